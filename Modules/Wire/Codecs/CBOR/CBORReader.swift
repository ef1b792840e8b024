/// Reads one data item. Accepts every well-formed encoding, also those that are not deterministic: longer heads,
/// indefinite lengths. Source: RFC 8949 section 3.
struct CBORReader {
    private var bytes: WireReader
    private let depthMax: Int
    private var depth = 0

    init(_ message: UnsafeRawBufferPointer, depthMax: Int) {
        bytes = WireReader(message)
        self.depthMax = depthMax
    }

    /// The item that is the whole message.
    mutating func readMessage() throws(WireError) -> CBORValue {
        let value = try readItem()
        if bytes.remaining > 0 { throw WireError(.trailingBytes, "\(bytes.remaining) bytes follow the item") }
        return value
    }

    private mutating func readItem() throws(WireError) -> CBORValue {
        try readItem(first: try bytes.readUInt8())
    }

    private mutating func readItem(first: UInt8) throws(WireError) -> CBORValue {
        let low = first & 0x1f
        switch CBORMajor(rawValue: first >> 5) ?? .simple {
        case .unsigned: return .unsigned(try readNumber(low))
        case .negative: return .negative(try readNumber(low))
        case .bytes: return .bytes(try readString(low, .bytes))
        case .text: return .text(try readText(low))
        case .array: return try nested { reader throws(WireError) in try reader.readArray(low) }
        case .map: return try nested { reader throws(WireError) in try reader.readMap(low) }
        case .tag:
            let tag = try readNumber(low)
            // A tag around the innermost value is no level of its own.
            return try nested(extra: 1) { reader throws(WireError) in .tagged(tag, try reader.readItem()) }
        case .simple: return try readSimple(low)
        }
    }

    private mutating func nested(
        extra: Int = 0, _ body: (inout CBORReader) throws(WireError) -> CBORValue
    ) throws(WireError) -> CBORValue {
        guard depth < depthMax + extra else {
            throw WireError(.tooDeep, "values are nested more than \(depthMax) levels deep")
        }
        depth += 1
        let value = try body(&self)
        depth -= 1
        return value
    }

    private mutating func readNumber(_ low: UInt8) throws(WireError) -> UInt64 {
        switch low {
        case 0..<24: return UInt64(low)
        case 24: return UInt64(try bytes.readUInt8())
        case 25: return UInt64(try bytes.readUInt16().byteSwapped)
        case 26: return UInt64(try bytes.readUInt32().byteSwapped)
        case 27: return try bytes.readUInt64().byteSwapped
        default: throw WireError(.corrupted, "additional information \(low) is reserved")
        }
    }

    private mutating func readSimple(_ low: UInt8) throws(WireError) -> CBORValue {
        switch low {
        case 24:
            let number = try bytes.readUInt8()
            guard number >= 32 else { throw WireError(.corrupted, "simple value \(number) takes one byte") }
            return .simple(number)
        case 25: return .float(HalfPrecision.value(of: try bytes.readUInt16().byteSwapped))
        case 26: return .float(Double(Float(bitPattern: try bytes.readUInt32().byteSwapped)))
        case 27: return .float(Double(bitPattern: try bytes.readUInt64().byteSwapped))
        case 0..<24: return .simple(low)
        default: throw WireError(.corrupted, "a break stands where an item should")
        }
    }
}

// MARK: - Strings and containers

extension CBORReader {
    private static let indefinite: UInt8 = 31
    private static let breakByte: UInt8 = 0xff

    /// The bytes of a string, joined if it comes in chunks.
    private mutating func readString(_ low: UInt8, _ major: CBORMajor) throws(WireError) -> [UInt8] {
        guard low == Self.indefinite else { return [UInt8](try readChunk(low)) }
        var joined: [UInt8] = []
        while true {
            let first = try bytes.readUInt8()
            if first == Self.breakByte { return joined }
            guard first >> 5 == major.rawValue, first & 0x1f != Self.indefinite else {
                throw WireError(.corrupted, "a chunk of a string is of another type")
            }
            let chunk = try readChunk(first & 0x1f)
            if major == .text { _ = try String(wire: chunk) }
            joined += chunk
        }
    }

    private mutating func readChunk(_ low: UInt8) throws(WireError) -> UnsafeRawBufferPointer {
        let length = try readNumber(low)
        guard length <= UInt64(bytes.remaining) else {
            throw .truncated(needed: Int(clamping: length), remaining: bytes.remaining)
        }
        return try bytes.readRaw(Int(length))
    }

    private mutating func readText(_ low: UInt8) throws(WireError) -> String {
        if low != Self.indefinite { return try String(wire: try readChunk(low)) }
        let text = try readString(low, .text)
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func readArray(_ low: UInt8) throws(WireError) -> CBORValue {
        var items: [CBORValue] = []
        try readItems(low, each: 1) { reader, first throws(WireError) in items.append(try reader.readItem(first: first))
        }
        return .array(items)
    }

    private mutating func readMap(_ low: UInt8) throws(WireError) -> CBORValue {
        var pairs: [CBORPair] = []
        var keys: Set<CBORValue> = []
        try readItems(low, each: 2) { reader, first throws(WireError) in
            let key = try reader.readItem(first: first)
            guard keys.insert(key).inserted else { throw WireError(.corrupted, "a key stands twice in a map") }
            pairs.append(CBORPair(key: key, value: try reader.readItem()))
        }
        return .map(pairs)
    }

    private mutating func readItems(
        _ low: UInt8, each items: Int, _ body: (inout CBORReader, UInt8) throws(WireError) -> Void
    ) throws(WireError) {
        if low == Self.indefinite {
            while true {
                let first = try bytes.readUInt8()
                if first == Self.breakByte { return }
                try body(&self, first)
            }
        }
        let count = try readNumber(low)
        guard count <= UInt64(bytes.remaining / items) else {
            throw .truncated(needed: Int(clamping: count), remaining: bytes.remaining)
        }
        for _ in 0..<count { try body(&self, try bytes.readUInt8()) }
    }
}
