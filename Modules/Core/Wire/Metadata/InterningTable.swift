import MeshFoundation
import MeshIdentity

/// What both ends of one connection remember of the messages that passed, so that the next one is short.
///
/// At most `capacity` identities of `SessionSyncMetadata.internedBytesMax` bytes of text each; when the table is full,
/// the writer reuses the slots in turn. A table of no capacity makes every message self-contained.
struct InterningTable: Sendable {
    /// What the last message of an identity was: the next one is written as differences from it.
    struct Position: Hashable, Sendable {
        var sequence: UInt64
        var stamp: HybridTimestamp
        var causal: Date
        var monotonic: TimeInterval?
    }

    /// What writing a message will change once the message has been sent.
    struct Change {
        var index: Int
        var isDefinition: Bool
    }

    /// Slot numbers of one byte.
    static let capacityMax = 63

    let capacity: Int
    /// In place of the slots where datagrams may be lost.
    var numbering: IdentityNumbering?
    /// Of each identity the position of its last message; other fields mean nothing.
    private(set) var slots: [SessionSyncMetadata] = []
    /// Of the messages that are written or read in full.
    var memo = IdentityMemo()
    private var last = 0
    private var nextReused = 0

    init(capacity: Int, numbering: IdentityNumbering? = nil) {
        self.capacity = min(capacity, Self.capacityMax)
        self.numbering = numbering
        slots.reserveCapacity(self.capacity)
    }
}

// MARK: - Writing

extension InterningTable {
    /// Where the metadata's identity is, or where it will be; nil when it is not to be remembered.
    func place(of metadata: SessionSyncMetadata) -> Change? {
        guard capacity > 0 else { return nil }
        if last < slots.count, slots[last].hasSameIdentity(as: metadata) {
            return Change(index: last, isDefinition: false)
        }
        if let index = slots.firstIndex(where: { $0.hasSameIdentity(as: metadata) }) {
            return Change(index: index, isDefinition: false)
        }
        guard metadata.internedBytes <= SessionSyncMetadata.internedBytesMax else { return nil }
        return Change(index: slots.count < capacity ? slots.count : nextReused, isDefinition: true)
    }

    /// The message is complete: remember it.
    mutating func apply(_ change: Change, from metadata: SessionSyncMetadata) {
        last = change.index
        guard change.isDefinition else {
            slots[change.index].position = metadata.position
            return
        }
        var slot = metadata
        (slot.acknowledgedSequence, slot.promise, slot.explicitEventID) = (nil, nil, nil)
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
    /// The metadata in a slot, with what `update` makes of it: its strings stay where they are.
    ///
    /// When that throws, the slot is half changed; a connection ends with the first error.
    @inline(__always)
    mutating func update(
        _ index: UInt64, _ update: (inout SessionSyncMetadata) throws(WireError) -> Void
    ) throws(WireError) -> SessionSyncMetadata {
        guard index < UInt64(slots.count) else {
            throw WireError(.corrupted, "the frame refers to connection state \(index) that was never sent")
        }
        let index = Int(index)
        try update(&slots[index])
        return slots[index]
    }

    /// Slots are defined in order, then redefined.
    func checkDefinition(of identity: SessionSyncMetadata, at index: UInt64) throws(WireError) {
        guard index < UInt64(capacity), index <= UInt64(slots.count) else {
            throw WireError(.corrupted, "the frame defines connection state \(index) out of turn")
        }
        guard identity.internedBytes <= SessionSyncMetadata.internedBytesMax else {
            throw WireError(.oversized, "an identity of \(identity.internedBytes) bytes is too long to be remembered")
        }
    }
}

extension SessionSyncMetadata {
    var position: InterningTable.Position {
        get {
            InterningTable.Position(
                sequence: sequence, stamp: stamp, causal: causalTimestamp, monotonic: monotonicTimestamp)
        }
        set {
            (sequence, stamp) = (newValue.sequence, newValue.stamp)
            (causalTimestamp, monotonicTimestamp) = (newValue.causal, newValue.monotonic)
        }
    }
}
