import MeshIdentity

/// The numbers of a sender's identities that a receiver knows. The receiver reports them.
package struct KnownIdentities: Hashable, Sendable {
    /// The epoch of the sender's numbering. Each connection has a different one.
    package var epoch: UInt16
    /// Bit n is set if the receiver knows number n.
    package var numbers: UInt64

    package init(epoch: UInt16, numbers: UInt64) { (self.epoch, self.numbers) = (epoch, numbers) }
}

/// The numbered identities of an encoder for datagrams.
package struct SentIdentities: Sendable {
    let numbering: IdentityNumbering
}

// Numbers for identities in datagrams, which can be lost, repeated or reordered. An introduction is an identity in full,
// with a number and a position. The sender repeats it in each datagram until the receiver reports the number as known.
// After that, datagrams have only the number, and differences from the introduced position. An epoch is one numbering.
// Within it, a number has one identity and one position, so a late or repeated datagram keeps its meaning.
// Docs/Internals/WireFormat.md, "Numbers in datagrams".

/// The numbers of identities, for a writer or a reader of datagrams. At most 63 identities of
/// `SessionSyncMetadata.internedBytesMax` bytes. Further ones are written in full.
struct IdentityNumbering: Sendable {
    private(set) var epoch: UInt16
    private var slots: [SessionSyncMetadata?] = []
    /// Writer only: the numbers that the receiver reports as known; nil until it offers to read numbers.
    private var known: UInt64?
    /// Writer only: the numbers that the current datagram introduces.
    private var introduced: UInt64 = 0
    /// Writer only: the number of the last message.
    private var last = 0
    /// Reader only: true if the sender must get a report.
    private var isReportDue = false
    private var unknownEpoch: UInt16?
    /// Reader only: true if a number has arrived that wasn't introduced.
    private var sawUnknownNumber = false

    init(epoch: UInt16) { self.epoch = epoch }

    static let capacity = InterningTable.capacityMax
}

// MARK: - Writing

extension IdentityNumbering {
    /// - Parameter report: nil if the receiver reads no numbers. If it is for another epoch, the receiver knows none.
    mutating func setKnown(_ report: KnownIdentities?) {
        known = report.map { $0.epoch == epoch ? $0.numbers : 0 }
    }

    /// Returns an identity's number and introduction; nil if it gets no number. The caller writes the introduction
    /// unless `isKnown` is true.
    mutating func number(of metadata: SessionSyncMetadata) -> (number: Int, base: SessionSyncMetadata, isKnown: Bool)? {
        guard known != nil else { return nil }
        if last < slots.count, let base = slots[last], base.hasSameIdentity(as: metadata) {
            return (last, base, isKnown(last))
        }
        if let number = slots.firstIndex(where: { $0?.hasSameIdentity(as: metadata) == true }), let base = slots[number]
        {
            last = number
            return (number, base, isKnown(number))
        }
        guard slots.count < Self.capacity, metadata.internedBytes <= SessionSyncMetadata.internedBytesMax else {
            return nil
        }
        let base = metadata.introduction
        last = slots.count
        slots.append(base)
        return (last, base, isKnown(last))
    }

    /// Marks a number as introduced for the rest of the datagram. Returns true if it needs no introduction any more.
    private mutating func isKnown(_ number: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(number)
        defer { introduced |= bit }
        return ((known ?? 0) | introduced) & bit != 0
    }

    mutating func beginDatagram() { introduced = 0 }
}

extension SessionSyncMetadata {
    /// A copy without the fields that aren't part of an identity or its position.
    fileprivate var introduction: SessionSyncMetadata {
        var base = self
        (base.acknowledgedSequence, base.promise, base.explicitEventID) = (nil, nil, nil)
        return base
    }

    fileprivate func isIntroduced(like other: SessionSyncMetadata) -> Bool {
        hasSameIdentity(as: other) && position == other.position
    }
}

// MARK: - Reading

extension IdentityNumbering {
    /// Stores an identity, with the position from which the sender counts.
    /// - Throws: `WireError` with `oversized` or `corrupted`.
    mutating func introduce(
        _ identity: SessionSyncMetadata, as number: UInt64, in epoch: UInt16
    ) throws(WireError) {
        guard number < UInt64(Self.capacity) else {
            throw WireError(
                .corrupted, "a datagram has identity \(number), but the limit is \(Self.capacity) identities")
        }
        guard identity.internedBytes <= SessionSyncMetadata.internedBytesMax else {
            throw WireError(
                .oversized,
                "an identity of \(identity.internedBytes) bytes exceeds the limit of \(SessionSyncMetadata.internedBytesMax)"
            )
        }
        isReportDue = true
        let number = Int(number)
        // A restarted sender may have generated the same epoch.
        let isContradicted = number < slots.count && slots[number].map { !$0.isIntroduced(like: identity) } ?? false
        if epoch != self.epoch || isContradicted { (self.epoch, slots) = (epoch, []) }
        while slots.count <= number { slots.append(nil) }
        slots[number] = identity
    }

    /// Returns an introduced identity. For any other number returns nil, and the sender will get a report.
    mutating func identity(_ number: UInt64, in epoch: UInt16) -> SessionSyncMetadata? {
        if epoch == self.epoch, number < UInt64(slots.count), let identity = slots[Int(number)] { return identity }
        (isReportDue, sawUnknownNumber) = (true, true)
        unknownEpoch = epoch
        return nil
    }

    /// Returns true if a number that wasn't introduced has arrived since the last call.
    mutating func takeUnknownNumberFlag() -> Bool {
        defer { sawUnknownNumber = false }
        return sawUnknownNumber
    }

    /// Returns the report for the sender; nil if none is due.
    mutating func takeReport() -> KnownIdentities? {
        guard isReportDue else { return nil }
        defer { (isReportDue, unknownEpoch) = (false, nil) }
        if let unknownEpoch, unknownEpoch != epoch { return KnownIdentities(epoch: unknownEpoch, numbers: 0) }
        let numbers = slots.indices.reduce(into: UInt64(0)) { if slots[$1] != nil { $0 |= 1 << UInt64($1) } }
        return KnownIdentities(epoch: epoch, numbers: numbers)
    }
}
