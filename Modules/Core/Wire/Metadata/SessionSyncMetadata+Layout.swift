import MeshFoundation
import MeshIdentity

/// The first byte of metadata: the optional parts that follow, and the form of times.
private struct MetadataFlags: OptionSet {
    let rawValue: UInt8

    static let monotonic = MetadataFlags(rawValue: 1 << 0)
    static let acknowledged = MetadataFlags(rawValue: 1 << 1)
    static let promise = MetadataFlags(rawValue: 1 << 2)
    static let explicitEventID = MetadataFlags(rawValue: 1 << 3)
    static let extensions = MetadataFlags(rawValue: 1 << 4)
    /// The causal timestamp is eight bytes, not a difference from the stamp.
    static let absoluteCausal = MetadataFlags(rawValue: 1 << 5)
    /// Sequence and stamp are differences: from this identity's last message, or in datagrams from its introduction.
    static let relative = MetadataFlags(rawValue: 1 << 6)
    /// The monotonic timestamp is a difference from a guess, which is based on the same message or introduction.
    static let relativeMonotonic = MetadataFlags(rawValue: 1 << 7)
}

/// The form of an identity. 0: in full. 2 × slot + 1: in full, which defines a slot. 2 × slot + 2: only the slot.
private enum IdentityHead {
    static let full: UInt64 = 0
    static func defining(_ index: Int) -> UInt64 { UInt64(index) * 2 + 1 }
    static func using(_ index: Int) -> UInt64 { UInt64(index) * 2 + 2 }
}

// MARK: - Writing

extension WireWriter {
    /// Writes metadata in the layout of Docs/Internals/WireFormat.md, "Metadata".
    ///
    /// - Returns: The change that the table must apply once the message is complete.
    mutating func write(
        _ metadata: SessionSyncMetadata, interning table: inout InterningTable
    ) -> InterningTable.Change? {
        reserve(96)
        let flagsOffset = position
        write(0 as UInt8)
        let number = writeNumber(of: metadata, numbering: &table.numbering)
        let change = number == nil ? table.place(of: metadata) : nil
        var last = number
        if number != nil {
            // `writeNumber` has written the identity.
        } else if let change {
            if change.isDefinition {
                writeVarint(IdentityHead.defining(change.index))
                write(identityOf: metadata)
            } else {
                writeVarint(IdentityHead.using(change.index))
                last = table.slots[change.index].position
            }
        } else {
            writeVarint(IdentityHead.full)
            write(identityOf: metadata, memo: &table.memo)
        }
        var flags = writePosition(of: metadata, after: last)
        flags.formUnion(writeTimes(of: metadata, after: last))
        flags.formUnion(writeOptionalFields(of: metadata))
        base.storeBytes(of: flags.rawValue, toByteOffset: flagsOffset, as: UInt8.self)
        return change
    }

    /// - Returns: The position from which this message counts; nil if the identity has no number.
    private mutating func writeNumber(
        of metadata: SessionSyncMetadata, numbering: inout IdentityNumbering?
    ) -> InterningTable.Position? {
        guard let epoch = numbering?.epoch, let (number, base, isKnown) = numbering?.number(of: metadata) else {
            return nil
        }
        writeVarint(isKnown ? IdentityHead.using(number) : IdentityHead.defining(number))
        write(epoch)
        if !isKnown {
            write(identityOf: base)
            writeVarint(base.sequence)
            write(base.stamp.rawValue)
            write(base.causalTimestamp.timeIntervalSinceReferenceDate)
            write(base.monotonicTimestamp == nil ? 0 : 1 as UInt8)
            if let monotonic = base.monotonicTimestamp { write(monotonic) }
        }
        return base.position
    }

    private mutating func writePosition(
        of metadata: SessionSyncMetadata, after last: InterningTable.Position?
    ) -> MetadataFlags {
        guard let last else {
            writeVarint(metadata.sequence)
            write(metadata.stamp.rawValue)
            return []
        }
        writeSignedVarint(Int64(bitPattern: metadata.sequence &- last.sequence))
        // At most 48 bits and a sign, plus one bit that says whether a counter follows.
        let milliseconds = Int64(metadata.stamp.milliseconds) - Int64(last.stamp.milliseconds)
        let hasCounter = metadata.stamp.counter != 0
        writeSignedVarint(milliseconds * 2 + (hasCounter ? 1 : 0))
        if hasCounter { writeVarint(UInt64(metadata.stamp.counter)) }
        return .relative
    }

    private mutating func writeTimes(
        of metadata: SessionSyncMetadata, after last: InterningTable.Position?
    ) -> MetadataFlags {
        var flags: MetadataFlags = []
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
            if promise.sequence == metadata.sequence, promise.stamp == metadata.stamp {
                write(0 as UInt8)
            } else {
                write(1 as UInt8)
                writeSignedVarint(Int64(bitPattern: promise.sequence &- metadata.sequence))
                writeSignedVarint(Int64(bitPattern: promise.stamp.rawValue &- metadata.stamp.rawValue))
            }
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
    /// Reads metadata and updates the table as the writer does.
    mutating func readMetadata(interning table: inout InterningTable) throws(WireError) -> SessionSyncMetadata {
        let flags = MetadataFlags(rawValue: try readUInt8())
        let head = try readVarint()
        if head == IdentityHead.full {
            try readMetadata(memo: &table.memo) { reader, metadata throws(WireError) in
                try reader.readOthers(of: &metadata, after: nil, flags: flags)
            }
            return table.memo.metadata
        }
        if table.numbering != nil {
            var metadata = try readNumbered(head, &table.numbering)
            try readOthers(of: &metadata, after: metadata.position, flags: flags)
            return metadata
        }
        guard head % 2 == 0 else { return try readDefinition(head / 2, flags, &table) }
        return try table.update(head / 2 - 1) { metadata throws(WireError) in
            try readOthers(of: &metadata, after: metadata.position, flags: flags)
        }
    }

    /// Reads metadata that defines a slot. Not inlined, because definitions are rare and the other cases short.
    @inline(never)
    private mutating func readDefinition(
        _ index: UInt64, _ flags: MetadataFlags, _ table: inout InterningTable
    ) throws(WireError) -> SessionSyncMetadata {
        var metadata = try readIdentity()
        try table.checkDefinition(of: metadata, at: index)
        try readOthers(of: &metadata, after: nil, flags: flags)
        table.apply(InterningTable.Change(index: Int(index), isDefinition: true), from: metadata)
        return metadata
    }

    /// Reads an identity that the sender has introduced by number, with the position from which it counts.
    private mutating func readNumbered(
        _ head: UInt64, _ numbering: inout IdentityNumbering?
    ) throws(WireError) -> SessionSyncMetadata {
        let (number, isIntroduced) = ((head - 1) / 2, head % 2 == 1)
        let epoch = try readUInt16()
        guard isIntroduced else {
            if let identity = numbering?.identity(number, in: epoch) { return identity }
            throw WireError(.corrupted, "the datagram refers to identity \(number), which hasn't been introduced")
        }
        var identity = try readIdentity()
        identity.sequence = try readVarint()
        identity.stamp = HybridTimestamp(rawValue: try readUInt64())
        identity.causalTimestamp = Date(timeIntervalSinceReferenceDate: try readDouble())
        identity.monotonicTimestamp = try readPresence() ? try readDouble() : nil
        try numbering?.introduce(identity, as: number, in: epoch)
        return identity
    }

    /// Reads everything but the identity.
    private mutating func readOthers(
        of metadata: inout SessionSyncMetadata, after last: InterningTable.Position?, flags: MetadataFlags
    ) throws(WireError) {
        try readPosition(of: &metadata, after: last, flags: flags)
        try readTimes(of: &metadata, after: last, flags: flags)
        try readOptionalFields(of: &metadata, flags: flags)
    }

    private mutating func readPosition(
        of metadata: inout SessionSyncMetadata, after last: InterningTable.Position?, flags: MetadataFlags
    ) throws(WireError) {
        guard flags.contains(.relative) else {
            metadata.sequence = try readVarint()
            metadata.stamp = HybridTimestamp(rawValue: try readUInt64())
            return
        }
        guard let last else { throw WireError(.corrupted, "a stamp is relative to one that was never sent") }
        metadata.sequence = last.sequence &+ UInt64(bitPattern: try readSignedVarint())
        let difference = try readSignedVarint()
        // No overflow: the first operand has 48 bits, and the second has 63.
        let milliseconds = Int64(last.stamp.milliseconds) + (difference >> 1)
        guard milliseconds >= 0, milliseconds <= Int64(HybridTimestamp.millisecondsMax),
            let counter = UInt16(exactly: difference & 1 == 1 ? try readVarint() : 0)
        else { throw WireError(.invalidValue, "a stamp is out of range") }
        metadata.stamp = HybridTimestamp(milliseconds: UInt64(milliseconds), counter: counter)
    }

    private mutating func readTimes(
        of metadata: inout SessionSyncMetadata, after last: InterningTable.Position?, flags: MetadataFlags
    ) throws(WireError) {
        if flags.contains(.absoluteCausal) {
            metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: try readDouble())
        } else {
            let seconds = WireTime.value(try readSignedVarint(), from: WireTime.seconds(of: metadata.stamp))
            metadata.causalTimestamp = Date(timeIntervalSinceReferenceDate: seconds)
        }
        if flags.contains(.relativeMonotonic) {
            guard flags.contains(.monotonic), let last, let lastMonotonic = last.monotonic else {
                throw WireError(.corrupted, "a monotonic time is relative to one that was never sent")
            }
            let guess = WireTime.monotonic(after: lastMonotonic, from: last.causal, to: metadata.causalTimestamp)
            guard guess.isFinite else {
                throw WireError(.corrupted, "a monotonic time is relative to one that isn't finite")
            }
            metadata.monotonicTimestamp = WireTime.value(try readSignedVarint(), from: guess)
        } else if flags.contains(.monotonic) {
            metadata.monotonicTimestamp = try readDouble()
        } else {
            metadata.monotonicTimestamp = nil
        }
    }

    private mutating func readOptionalFields(
        of metadata: inout SessionSyncMetadata, flags: MetadataFlags
    ) throws(WireError) {
        metadata.acknowledgedSequence = flags.contains(.acknowledged) ? try readVarint() : nil
        metadata.promise = nil
        if flags.contains(.promise) {
            var promise = SequencePromise(sequence: metadata.sequence, stamp: metadata.stamp)
            if try readPresence() {
                promise.sequence &+= UInt64(bitPattern: try readSignedVarint())
                let stamp = promise.stamp.rawValue &+ UInt64(bitPattern: try readSignedVarint())
                promise.stamp = HybridTimestamp(rawValue: stamp)
            }
            metadata.promise = promise
        }
        metadata.explicitEventID = flags.contains(.explicitEventID) ? try readUUID() : nil
        if flags.contains(.extensions) { try skipExtensions() }
    }

    /// Skips fields of later versions: a region of tags, lengths and bytes. This version has no such fields and drops them.
    mutating func skipExtensions() throws(WireError) {
        var fields = try readRegion()
        while !fields.isAtEnd {
            _ = try fields.readVarint()
            _ = try fields.readRegion()
        }
    }
}
