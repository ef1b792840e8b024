import MeshIdentity

/// What a receiver knows of the numbers that a sender's datagrams give to identities.
package struct KnownIdentities: Hashable, Sendable {
    /// Which numbering of the sender's; a connection begins another one.
    package var epoch: UInt16
    /// Bit n says that number n is known.
    package var numbers: UInt64

    package init(epoch: UInt16, numbers: UInt64) { (self.epoch, self.numbers) = (epoch, numbers) }
}

/// The identities to which an encoder of datagrams has given numbers.
package struct SentIdentities: Sendable {
    let numbering: IdentityNumbering
}

/// The numbers of identities on a lane that loses datagrams, or delivers them in another order.
///
/// A sender introduces an identity, with a number and a position, in each datagram until the receiver says that it knows the
/// number. From then on datagrams give the number, and positions as differences from the introduced one. Within an epoch a
/// number is given once and its position never changes, so a datagram that comes late or twice means the same. At most 63
/// identities of `SessionSyncMetadata.internedBytesMax` bytes; further ones are written in full.
struct IdentityNumbering: Sendable {
    private(set) var epoch: UInt16
    private var slots: [SessionSyncMetadata?] = []
    /// Of a writer: what the receiver says it knows. nil while it has not offered to read numbers.
    private var known: UInt64?
    /// Of a writer: what the datagram that is being written introduces.
    private var introduced: UInt64 = 0
    /// Of a writer: the number of the last message.
    private var last = 0
    /// Of a reader: the sender is to be told what is known, and of which epoch it can't know anything.
    private var isStatementDue = false
    private var unknownEpoch: UInt16?
    /// Of a reader: a number came that was not introduced.
    private var hasMissed = false

    init(epoch: UInt16) { self.epoch = epoch }

    static let capacity = InterningTable.capacityMax
}

// MARK: - Writing

extension IdentityNumbering {
    /// - Parameter statement: nil of a receiver that reads no numbers. Of another epoch it says nothing.
    mutating func setKnown(_ statement: KnownIdentities?) {
        known = statement.map { $0.epoch == epoch ? $0.numbers : 0 }
    }

    /// The metadata's number and what was introduced with it, and whether that is to be said; nil if it gets none.
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

    /// What is introduced once in a datagram is known in the rest of it.
    private mutating func isKnown(_ number: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(number)
        defer { introduced |= bit }
        return ((known ?? 0) | introduced) & bit != 0
    }

    mutating func beginDatagram() { introduced = 0 }
}

extension SessionSyncMetadata {
    /// What is the same in each message of an identity, at the position of this one.
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
    /// Remembers an identity, with the position from which the sender counts.
    /// - Throws: `WireError` with `oversized` or `corrupted`.
    mutating func introduce(
        _ identity: SessionSyncMetadata, as number: UInt64, in epoch: UInt16
    ) throws(WireError) {
        guard number < UInt64(Self.capacity) else { throw WireError(.corrupted, "identity \(number) of a datagram") }
        guard identity.internedBytes <= SessionSyncMetadata.internedBytesMax else {
            throw WireError(.oversized, "an identity of \(identity.internedBytes) bytes is too long to be remembered")
        }
        isStatementDue = true
        let number = Int(number)
        // A sender that has begun anew may have drawn the same epoch.
        let isContradicted = number < slots.count && slots[number].map { !$0.isIntroduced(like: identity) } ?? false
        if epoch != self.epoch || isContradicted { (self.epoch, slots) = (epoch, []) }
        while slots.count <= number { slots.append(nil) }
        slots[number] = identity
    }

    /// nil if it was not introduced here: the sender is then told what was.
    mutating func identity(_ number: UInt64, in epoch: UInt16) -> SessionSyncMetadata? {
        if epoch == self.epoch, number < UInt64(slots.count), let identity = slots[Int(number)] { return identity }
        (isStatementDue, hasMissed) = (true, true)
        unknownEpoch = epoch
        return nil
    }

    /// Whether a number came, since the last call, that was not introduced.
    mutating func takeMissed() -> Bool {
        defer { hasMissed = false }
        return hasMissed
    }

    /// What the sender is to be told now; nil if it knows that.
    mutating func takeStatement() -> KnownIdentities? {
        guard isStatementDue else { return nil }
        defer { (isStatementDue, unknownEpoch) = (false, nil) }
        if let unknownEpoch, unknownEpoch != epoch { return KnownIdentities(epoch: unknownEpoch, numbers: 0) }
        let numbers = slots.indices.reduce(into: UInt64(0)) { if slots[$1] != nil { $0 |= 1 << UInt64($1) } }
        return KnownIdentities(epoch: epoch, numbers: numbers)
    }
}
