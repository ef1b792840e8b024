import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which optional parts follow, and how times are written; the first byte of metadata.
private struct MetadataFlags: OptionSet {
    let rawValue: UInt8

    static let monotonic = MetadataFlags(rawValue: 1 << 0)
    static let acknowledged = MetadataFlags(rawValue: 1 << 1)
    static let promise = MetadataFlags(rawValue: 1 << 2)
    static let explicitEventID = MetadataFlags(rawValue: 1 << 3)
    static let extensions = MetadataFlags(rawValue: 1 << 4)
    /// The causal timestamp is its eight bytes rather than a difference from the stamp.
    static let absoluteCausal = MetadataFlags(rawValue: 1 << 5)
    /// The stamp is a difference from the last one of this identity.
    static let relativeStamp = MetadataFlags(rawValue: 1 << 6)
    /// The monotonic timestamp is a difference from what the last one of this identity lets expect.
    static let relativeMonotonic = MetadataFlags(rawValue: 1 << 7)
}

/// How the identity is written: 0 in full; otherwise twice a slot's number and 1 to define it in full, 2 to use it.
private enum IdentityHead {
    static let full: UInt64 = 0
    static func defining(_ index: Int) -> UInt64 { UInt64(index) * 2 + 1 }
    static func using(_ index: Int) -> UInt64 { UInt64(index) * 2 + 2 }
}

// MARK: - Writing

extension WireWriter {
    /// Writes metadata in the layout of Docs/WireFormat.md, section "Metadata".
    ///
    /// - Returns: what the table has to remember once the message is complete.
    mutating func write(
        _ metadata: SessionSyncMetadata, interning table: borrowing InterningTable
    ) -> InterningTable.Change? {
        reserve(96)
        let change = table.place(of: metadata)
        var last: InterningTable.Times?
        let flagsOffset = position
        write(0 as UInt8)
        if let change {
            if change.isDefinition {
                writeVarint(IdentityHead.defining(change.index))
                write(identityOf: metadata)
            } else {
                writeVarint(IdentityHead.using(change.index))
                last = table.slots[change.index].times
            }
        } else {
            writeVarint(IdentityHead.full)
            write(identityOf: metadata)
        }
        writeVarint(metadata.sequence)
        var flags = writeTimes(of: metadata, after: last)
        flags.formUnion(writeOptionalFields(of: metadata))
        base.storeBytes(of: flags.rawValue, toByteOffset: flagsOffset, as: UInt8.self)
        return change
    }

    private mutating func writeTimes(
        of metadata: SessionSyncMetadata, after last: InterningTable.Times?
    ) -> MetadataFlags {
        var flags: MetadataFlags = []
        if let last {
            flags.insert(.relativeStamp)
            writeSignedVarint(Int64(metadata.stamp.milliseconds) - Int64(last.stamp.milliseconds))
            writeVarint(UInt64(metadata.stamp.counter))
        } else {
            write(metadata.stamp.rawValue)
        }
        let causal = metadata.causalTimestamp.timeIntervalSinceReferenceDate
        let difference = WireTime.difference(of: causal, from: WireTime.seconds(of: metadata.stamp))
        if WireTime.isShort(difference) {
            writeSignedVarint(difference)
        } else {
            flags.insert(.absoluteCausal)
            write(causal)
        }
        if let monotonic = metadata.monotonicTimestamp {
            flags.insert(.monotonic)
            if let last, let lastMonotonic = last.monotonic {
                let guess = WireTime.monotonic(
                    after: lastMonotonic, from: last.causal, to: metadata.causalTimestamp)
                let difference = WireTime.difference(of: monotonic, from: guess)
                if guess.isFinite, WireTime.isShort(difference) {
                    flags.insert(.relativeMonotonic)
                    writeSignedVarint(difference)
                    return flags
                }
            }
            write(monotonic)
        }
        return flags
    }

    private mutating func writeOptionalFields(of metadata: SessionSyncMetadata) -> MetadataFlags {
        var flags: MetadataFlags = []
        if let acknowledged = metadata.acknowledgedSequence {
            flags.insert(.acknowledged)
            writeVarint(acknowledged)
        }
        if let promise = metadata.promise {
            flags.insert(.promise)
            writeSignedVarint(Int64(bitPattern: promise.sequence &- metadata.sequence))
            writeSignedVarint(Int64(bitPattern: promise.stamp.rawValue &- metadata.stamp.rawValue))
        }
        if let eventID = metadata.explicitEventID {
            flags.insert(.explicitEventID)
            write(eventID)
        }
        return flags
    }
}

// MARK: - Reading

extension WireReader {
    /// Reads metadata and remembers in the table what the writer's table remembers.
    mutating func readMetadata(interning table: inout InterningTable) throws(WireError) -> SessionSyncMetadata {
        let flags = MetadataFlags(rawValue: try readUInt8())
        let head = try readVarint()
        let identity: WireIdentity
        var last: InterningTable.Times?
        if head == IdentityHead.full {
            identity = try readIdentity()
        } else if head % 2 == 1 {
            identity = try readIdentity()
            try table.checkDefinition(of: identity, at: head / 2)
        } else {
            let slot = try table.slot(head / 2 - 1)
            identity = slot.identity
            last = slot.times
        }
        // A sequence of 0 would make the initialiser draw a random event id that is replaced at once.
        var metadata = SessionSyncMetadata(
            protocolVersion: identity.protocolVersion, sessionID: identity.sessionID, featureID: identity.featureID,
            sourcePeerID: identity.sourcePeerID, sequence: 1, causalTimestamp: Date(timeIntervalSinceReferenceDate: 0),
            payloadType: identity.payloadType, incarnation: identity.incarnation, epoch: identity.epoch)
        metadata.sequence = try readVarint()
        try readTimes(of: &metadata, after: last, flags: flags)
        try readOptionalFields(of: &metadata, flags: flags)
        if head != IdentityHead.full {
            let change = InterningTable.Change(index: Int((head - 1) / 2), isDefinition: head % 2 == 1)
            table.apply(change, from: metadata)
        }
        return metadata
    }

    private mutating func readTimes(
        of metadata: inout SessionSyncMetadata, after last: InterningTable.Times?, flags: MetadataFlags
    ) throws(WireError) {
        metadata.stamp = try readStamp(after: last, isRelative: flags.contains(.relativeStamp))
        if flags.contains(.absoluteCausal) {
            metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: try readDouble())
        } else {
            let seconds = WireTime.value(try readSignedVarint(), from: WireTime.seconds(of: metadata.stamp))
            metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: seconds)
        }
        if flags.contains(.relativeMonotonic) {
            guard flags.contains(.monotonic), let last, let lastMonotonic = last.monotonic else {
                throw WireError(.corrupted, "a steady time refers to one that was never sent")
            }
            let guess = WireTime.monotonic(after: lastMonotonic, from: last.causal, to: metadata.causalTimestamp)
            guard guess.isFinite else { throw WireError(.corrupted, "a steady time refers to no time") }
            metadata.monotonicTimestamp = WireTime.value(try readSignedVarint(), from: guess)
        } else if flags.contains(.monotonic) {
            metadata.monotonicTimestamp = try readDouble()
        }
    }

    private mutating func readStamp(
        after last: InterningTable.Times?, isRelative: Bool
    ) throws(WireError) -> HybridTimestamp {
        guard isRelative else { return HybridTimestamp(rawValue: try readUInt64()) }
        guard let last else { throw WireError(.corrupted, "a stamp refers to one that was never sent") }
        let difference = try readSignedVarint()
        let (sum, overflow) = Int64(last.stamp.milliseconds).addingReportingOverflow(difference)
        guard !overflow, sum >= 0, sum <= Int64(HybridTimestamp.millisecondsMax),
            let counter = UInt16(exactly: try readVarint())
        else { throw WireError(.invalidValue, "a stamp lies outside its range") }
        return HybridTimestamp(milliseconds: UInt64(sum), counter: counter)
    }

    private mutating func readOptionalFields(
        of metadata: inout SessionSyncMetadata, flags: MetadataFlags
    ) throws(WireError) {
        if flags.contains(.acknowledged) { metadata.acknowledgedSequence = try readVarint() }
        if flags.contains(.promise) {
            let sequence = metadata.sequence &+ UInt64(bitPattern: try readSignedVarint())
            let stamp = metadata.stamp.rawValue &+ UInt64(bitPattern: try readSignedVarint())
            metadata.promise = SequencePromise(sequence: sequence, stamp: HybridTimestamp(rawValue: stamp))
        }
        if flags.contains(.explicitEventID) { metadata.explicitEventID = try readUUID() }
        if flags.contains(.extensions) { try skipExtensions() }
    }

    /// Fields of later versions: a region of (tag, length, bytes). This version knows none, and drops them.
    mutating func skipExtensions() throws(WireError) {
        var fields = try readRegion()
        while !fields.isAtEnd {
            _ = try fields.readVarint()
            _ = try fields.readRegion()
        }
    }
}
