import Foundation
import MeshEngine
import MeshIdentity

/// The delivery of own events, by event ID: an event that is issued again has another sequence, but the same ID.
///
/// Keeps the newest `countMax`.
struct DeliveryLedger {
    struct Entry {
        var place: SourceSequence
        var stamp: HybridTimestamp
        /// The number of the entry's last change of place, as counted by `changeCount`.
        var change: UInt64
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
    /// Number of times that an event was added, or got another place. Sequences can't replace it: a new incarnation
    /// counts its events from 1 again.
    private(set) var changeCount: UInt64 = 0
    /// The value of `changeCount` up to which all changes are in the store.
    private var acceptedCount: UInt64 = 0

    static var countMax: Int { 16_384 }

    subscript(id: UUID) -> Entry? { entries[id] }

    func isAccepted(_ entry: Entry) -> Bool { entry.change <= acceptedCount }

    func isUnchanged(_ id: UUID) -> Bool { unchanged.contains(id) }

    mutating func add(_ metadata: SessionSyncMetadata, isUnchanged: Bool = false) {
        let id = metadata.eventID
        if isUnchanged { unchanged.insert(id) }
        let source = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
        let place = SourceSequence(source: source, sequence: metadata.sequence)
        if let known = entries[id] {
            entries[id]?.stamp = metadata.stamp
            guard known.place != place else { return }
            changeCount += 1
            entries[id]?.place = place
            entries[id]?.change = changeCount
            return
        }
        changeCount += 1
        entries[id] = Entry(place: place, stamp: metadata.stamp, change: changeCount)
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

    mutating func accept(through count: UInt64) { acceptedCount = count }
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
