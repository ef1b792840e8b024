import Foundation
import MeshIdentity

/// What is known of own events by their ids, whatever sequence they have: an event that is issued again keeps its id.
///
/// The newest `countMax`.
struct DeliveryLedger {
    struct Entry {
        var sequence: UInt64
        var isSent = false
        var isConfirmed = false
    }

    private var entries: [UUID: Entry] = [:]
    /// Oldest first, and where it begins.
    private var order: [UUID] = []
    private var head = 0
    /// Everything up to here is in the store.
    private var acceptedSequence: UInt64 = 0

    static var countMax: Int { 16_384 }

    subscript(id: UUID) -> Entry? { entries[id] }

    func isAccepted(_ entry: Entry) -> Bool { entry.sequence <= acceptedSequence }

    mutating func add(_ metadata: SessionSyncMetadata) {
        let id = metadata.eventID
        if entries[id] != nil {
            entries[id]?.sequence = metadata.sequence
            return
        }
        entries[id] = Entry(sequence: metadata.sequence)
        order.append(id)
        guard order.count - head > Self.countMax else { return }
        entries[order[head]] = nil
        head += 1
        if 2 * head > order.count {
            order.removeFirst(head)
            head = 0
        }
    }

    mutating func accept(through sequence: UInt64) { acceptedSequence = sequence }
    mutating func markSent(_ id: UUID) { entries[id]?.isSent = true }
    mutating func confirm(_ ids: [UUID]) { for id in ids { entries[id]?.isConfirmed = true } }
}
