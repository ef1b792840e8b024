import Foundation
import MeshIdentity

/// The delivery of own events, by event ID: an event that is issued again has another sequence, but the same ID.
///
/// Keeps the newest `countMax`.
struct DeliveryLedger {
    struct Entry {
        var sequence: UInt64
        var stamp: HybridTimestamp
        var isSent = false
        var isConfirmed = false
        /// True if the event was rejected at its final place.
        var isRejected = false
    }

    private var entries: [UUID: Entry] = [:]
    /// The IDs, oldest first, from index `head` on.
    private var order: [UUID] = []
    private var head = 0
    /// Events that didn't change the state when they were submitted.
    private var unchanged: Set<UUID> = []
    /// The sequence up to which all own events are in the store.
    private var acceptedSequence: UInt64 = 0

    static var countMax: Int { 16_384 }

    subscript(id: UUID) -> Entry? { entries[id] }

    func isAccepted(_ entry: Entry) -> Bool { entry.sequence <= acceptedSequence }

    func isUnchanged(_ id: UUID) -> Bool { unchanged.contains(id) }

    mutating func add(_ metadata: SessionSyncMetadata, isUnchanged: Bool = false) {
        let id = metadata.eventID
        if isUnchanged { unchanged.insert(id) }
        if entries[id] != nil {
            entries[id]?.sequence = metadata.sequence
            entries[id]?.stamp = metadata.stamp
            return
        }
        entries[id] = Entry(sequence: metadata.sequence, stamp: metadata.stamp)
        order.append(id)
        guard order.count - head > Self.countMax else { return }
        entries[order[head]] = nil
        unchanged.remove(order[head])
        head += 1
        if 2 * head > order.count {
            order.removeFirst(head)
            head = 0
        }
    }

    mutating func accept(through sequence: UInt64) { acceptedSequence = sequence }
    mutating func markSent(_ id: UUID) { entries[id]?.isSent = true }

    mutating func confirm(_ id: UUID, isRejected: Bool) {
        entries[id]?.isConfirmed = true
        entries[id]?.isRejected = isRejected
    }

    /// Forgets which unconfirmed events changed nothing: late events have changed the order. Confirmed ones are final.
    mutating func forgetUnchanged() {
        if !unchanged.isEmpty { unchanged = unchanged.filter { entries[$0]?.isConfirmed ?? false } }
    }
}
