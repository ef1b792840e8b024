import MeshFoundation
import MeshIdentity

// Interning of identities. Both ends of a connection have the same table of slots. The first message of an identity
// defines a slot. Later messages name the slot, and give their position (sequence, stamp and times) as differences from
// the slot's last one. Docs/Internals/WireFormat.md, "Metadata".

/// The identities and positions of earlier messages that both ends of a connection remember.
///
/// At most `capacity` identities with strings of at most `SessionSyncMetadata.internedBytesMax` bytes. When the table is
/// full, the writer reuses the slots in turn. With a capacity of 0 every message stands alone.
struct InterningTable: Sendable {
    /// The position of an identity's last message. The next position is written as differences from it.
    struct Position: Hashable, Sendable {
        var sequence: UInt64
        var stamp: HybridTimestamp
        var causal: Date
        var monotonic: TimeInterval?
    }

    /// The change to the table that takes effect once the message is complete.
    struct Change {
        var index: Int
        var isDefinition: Bool
    }

    /// Maximum number of slots. Each number takes one byte.
    static let capacityMax = 63

    let capacity: Int
    /// Replaces the slots for datagrams, which may be lost.
    var numbering: IdentityNumbering?
    /// The identities, each with the position of its last message. Their other fields have no meaning.
    private(set) var slots: [SessionSyncMetadata] = []
    /// Cache for messages that are written or read in full.
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
    /// Returns the slot that has, or will get, the metadata's identity; nil if it isn't remembered.
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

    /// Applies a change. Call it when the message is complete.
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
    /// Updates the metadata in a slot, without copying its strings, and returns it.
    ///
    /// If `update` throws, the slot is partly changed. That is harmless, because the connection ends with the first error.
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

    /// Checks a definition. Slots are defined in order, and may then be redefined.
    func checkDefinition(of identity: SessionSyncMetadata, at index: UInt64) throws(WireError) {
        guard index < UInt64(capacity), index <= UInt64(slots.count) else {
            throw WireError(.corrupted, "the frame defines connection state \(index) out of order")
        }
        guard identity.internedBytes <= SessionSyncMetadata.internedBytesMax else {
            throw WireError(
                .oversized,
                "an identity of \(identity.internedBytes) bytes exceeds the limit of \(SessionSyncMetadata.internedBytesMax)"
            )
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
