import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What both ends of one connection remember of the messages that passed, so that the next one is short.
///
/// At most `capacity` identities of `WireIdentity.internedBytesMax` bytes of text each; when the table is full, the
/// writer reuses the slots in turn. A table of no capacity makes every message self-contained.
struct InterningTable: Sendable {
    /// The times of the last message of an identity: those of the next are written as differences from them.
    struct Times: Sendable {
        var stamp: HybridTimestamp
        var causal: Date
        var monotonic: TimeInterval?
    }

    struct Slot: Sendable {
        var identity: WireIdentity
        var times: Times
    }

    /// What writing a message will change once the message has been sent.
    struct Change {
        var index: Int
        var isDefinition: Bool
    }

    /// Slot numbers of one byte.
    static let capacityMax = 63

    let capacity: Int
    private(set) var slots: [Slot] = []
    private var last = 0
    private var nextReused = 0

    init(capacity: Int) {
        self.capacity = min(capacity, Self.capacityMax)
        slots.reserveCapacity(self.capacity)
    }
}

// MARK: - Writing

extension InterningTable {
    /// Where the metadata's identity is, or where it will be; nil when it is not to be remembered.
    func place(of metadata: SessionSyncMetadata) -> Change? {
        guard capacity > 0 else { return nil }
        if last < slots.count, slots[last].identity.matches(metadata) {
            return Change(index: last, isDefinition: false)
        }
        if let index = slots.firstIndex(where: { $0.identity.matches(metadata) }) {
            return Change(index: index, isDefinition: false)
        }
        guard WireIdentity(metadata).stringBytes <= WireIdentity.internedBytesMax else { return nil }
        return Change(index: slots.count < capacity ? slots.count : nextReused, isDefinition: true)
    }

    /// The message is complete: remember it.
    mutating func apply(_ change: Change, from metadata: SessionSyncMetadata) {
        let times = Times(
            stamp: metadata.stamp, causal: metadata.causalTimestamp, monotonic: metadata.monotonicTimestamp)
        last = change.index
        guard change.isDefinition else {
            slots[change.index].times = times
            return
        }
        let slot = Slot(identity: WireIdentity(metadata), times: times)
        if change.index == slots.count {
            slots.append(slot)
        } else {
            slots[change.index] = slot
            nextReused = (change.index + 1) % capacity
        }
    }
}

// MARK: - Reading

extension InterningTable {
    func slot(_ index: UInt64) throws(WireError) -> Slot {
        guard index < UInt64(slots.count) else {
            throw WireError(.corrupted, "the frame refers to connection state \(index) that was never sent")
        }
        return slots[Int(index)]
    }

    /// Slots are defined in order, then redefined.
    func checkDefinition(of identity: WireIdentity, at index: UInt64) throws(WireError) {
        guard index < UInt64(capacity), index <= UInt64(slots.count) else {
            throw WireError(.corrupted, "the frame defines connection state \(index) out of turn")
        }
        guard identity.stringBytes <= WireIdentity.internedBytesMax else {
            throw WireError(.oversized, "an identity to be remembered exceeds \(WireIdentity.internedBytesMax) bytes")
        }
    }
}
