extension DNSMessage {
    /// Reads one message and ignores bytes after it.
    ///
    /// A compression pointer must point to before the labels that it follows, so reading always terminates. A message
    /// has at most `bytesMax` bytes, and its names at most `nameBytesMax` in total.
    /// - Throws: `DNSError`.
    package init(_ bytes: UnsafeRawBufferPointer) throws(DNSError) {
        guard bytes.count <= Self.bytesMax else { throw DNSError(.tooLarge) }
        var reader = DNSReader(bytes)
        id = try reader.readUInt16()
        flags = DNSFlags(rawValue: try reader.readUInt16())
        let counts = (
            questions: Int(try reader.readUInt16()), answers: Int(try reader.readUInt16()),
            authorities: Int(try reader.readUInt16()), additionals: Int(try reader.readUInt16())
        )
        let records = counts.answers + counts.authorities + counts.additionals
        // The smallest question has 5 bytes, the smallest record 11.
        guard counts.questions * 5 + records * 11 <= reader.remaining else { throw DNSError(.truncated, at: 4) }
        for _ in 0..<counts.questions { questions.append(try reader.readQuestion()) }
        for _ in 0..<counts.answers { answers.append(try reader.readRecord()) }
        for _ in 0..<counts.authorities { authorities.append(try reader.readRecord()) }
        for _ in 0..<counts.additionals { additionals.append(try reader.readRecord()) }
    }

    package init(_ bytes: [UInt8]) throws(DNSError) {
        self = try bytes.withUnsafeBytes { buffer in
            Result { () throws(DNSError) -> DNSMessage in try DNSMessage(buffer) }
        }.get()
    }
}

/// A read position in a message. Valid only while the message's bytes are.
private struct DNSReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    /// The number of bytes that further names may have in total.
    private var nameBytesLeft = DNSMessage.nameBytesMax

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var remaining: Int { bytes.count - offset }

    mutating func readUInt8() throws(DNSError) -> UInt8 {
        guard offset < bytes.count else { throw DNSError(.truncated, at: offset) }
        defer { offset += 1 }
        return bytes[offset]
    }

    mutating func readUInt16() throws(DNSError) -> UInt16 {
        let high = try readUInt8()
        return UInt16(high) << 8 | UInt16(try readUInt8())
    }

    mutating func readUInt32() throws(DNSError) -> UInt32 {
        let high = try readUInt16()
        return UInt32(high) << 16 | UInt32(try readUInt16())
    }

    mutating func readBytes(_ count: Int) throws(DNSError) -> [UInt8] {
        guard count <= remaining else { throw DNSError(.truncated, at: offset) }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    mutating func readName() throws(DNSError) -> DNSName {
        let (wire, end) = try name(at: offset)
        offset = end
        nameBytesLeft -= wire.count
        guard nameBytesLeft >= 0 else { throw DNSError(.tooLarge, at: offset) }
        return DNSName(checked: wire)
    }

    /// Returns the name at an offset, and the offset after it.
    private func name(at start: Int) throws(DNSError) -> (wire: [UInt8], end: Int) {
        var wire: [UInt8] = []
        var end: Int?
        var offset = start
        var partStart = start
        while true {
            guard offset < bytes.count else { throw DNSError(.truncated, at: offset) }
            let length = Int(bytes[offset])
            switch length {
            case 0:
                wire.append(0)
                return (wire, end ?? offset + 1)
            case 1...DNSName.labelBytesMax:
                guard offset + length < bytes.count else { throw DNSError(.truncated, at: offset) }
                // Leave space for the terminating zero.
                guard wire.count + length + 2 <= DNSName.bytesMax else { throw DNSError(.badName, at: offset) }
                wire += bytes[offset...offset + length]
                offset += 1 + length
            case 0xC0...:
                guard offset + 1 < bytes.count else { throw DNSError(.truncated, at: offset) }
                let target = (length & 0x3F) << 8 | Int(bytes[offset + 1])
                guard target < partStart, target >= DNSMessage.headerBytes else {
                    throw DNSError(.badPointer, at: offset)
                }
                if end == nil { end = offset + 2 }
                (offset, partStart) = (target, target)
            default: throw DNSError(.badName, at: offset)
            }
        }
    }

    mutating func readQuestion() throws(DNSError) -> DNSQuestion {
        let name = try readName()
        let type = DNSType(rawValue: try readUInt16())
        let word = try readUInt16()
        return DNSQuestion(name, type, recordClass: DNSClass(rawValue: word), wantsUnicast: word & 0x8000 != 0)
    }

    mutating func readRecord() throws(DNSError) -> DNSRecord {
        let name = try readName()
        let type = DNSType(rawValue: try readUInt16())
        let word = try readUInt16()
        let lifetime = try readUInt32()
        let length = Int(try readUInt16())
        guard length <= remaining else { throw DNSError(.truncated, at: offset) }
        let end = offset + length
        let data = try readData(type, length)
        guard offset == end else { throw DNSError(.badData, at: offset) }
        return DNSRecord(
            // A lifetime with the top bit set counts as zero (RFC 2181 section 8).
            name, data, lifetime: lifetime > UInt32(Int32.max) ? 0 : lifetime, flushesCache: word & 0x8000 != 0,
            recordClass: DNSClass(rawValue: word))
    }

    private mutating func readData(_ type: DNSType, _ length: Int) throws(DNSError) -> DNSRecordData {
        let start = offset
        switch type {
        case .a, .aaaa:
            guard length == (type == .a ? 4 : 16), let ip = IPAddress(bytes: try readBytes(length)) else {
                throw DNSError(.badData, at: start)
            }
            return .address(ip)
        case .ptr: return .pointer(try readName())
        case .srv:
            let (priority, weight, port) = (try readUInt16(), try readUInt16(), try readUInt16())
            return .service(priority: priority, weight: weight, port: port, target: try readName())
        case .txt:
            let text = try readBytes(length)
            guard TextAttributes.isWellFormed(text) else { throw DNSError(.badData, at: start) }
            return .text(text)
        case .nsec: return .negative(next: try readName(), types: try readTypes(upTo: start + length))
        default: return .opaque(type, try readBytes(length))
        }
    }

    /// Reads the bit maps of an NSEC record (RFC 4034 section 4.1.2). Keeps only the first, with the types up to 255.
    private mutating func readTypes(upTo end: Int) throws(DNSError) -> [DNSType] {
        var types: [DNSType] = []
        var next = 0
        while offset < end {
            let (block, length) = (try readUInt8(), Int(try readUInt8()))
            // Blocks must be in ascending order, without repetition.
            guard block >= next, (1...32).contains(length), offset + length <= end else {
                throw DNSError(.badData, at: offset)
            }
            next = Int(block) + 1
            let bits = try readBytes(length)
            guard block == 0 else { continue }
            for (index, byte) in bits.enumerated() {
                for bit in 0..<8 where byte & 0x80 >> UInt8(bit) != 0 {
                    types.append(DNSType(rawValue: UInt16(index * 8 + bit)))
                }
            }
        }
        return types
    }
}
