#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What Foundation makes of these types is spelled out in Docs/WireFormat.md. Whatever looks otherwise on the wire is
// left to Foundation, and so are all errors.

extension Decimal: CodableForm {
    private enum Field: String, CodingKey {
        case exponent, length, isNegative, isCompact, mantissa
    }

    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        guard let layout = DecimalLayout.known else { return try EncodeState.encodeCodable(self, in: state, as: head) }
        let keys = state.pointee.keyEntry(Field.self)
        // Equal numbers may differ in their trailing zeros; parsed ones have none.
        let isParsed = state.pointee.writer.isDeterministic && !isNaN
        let parts = unsafeBitCast(isParsed ? Decimal(string: "\(self)") ?? self : self, to: DecimalParts.self)
        state.pointee.writer.openRecord(.namedRecord, as: head)
        var field = state.pointee.head(Field.exponent, keys)
        state.pointee.writer.write(Int64(parts.exponent), as: field)
        field = state.pointee.head(Field.length, keys)
        state.pointee.writer.write(Int64(layout.length(of: parts)), as: field)
        field = state.pointee.head(Field.isNegative, keys)
        state.pointee.writer.write(layout.isNegative(parts), as: field)
        field = state.pointee.head(Field.isCompact, keys)
        state.pointee.writer.write(layout.isCompact(parts), as: field)
        field = state.pointee.head(Field.mantissa, keys)
        state.pointee.writer.openList(count: DecimalParts.digitCount, as: field)
        withUnsafeBytes(of: parts.mantissa) { digits in
            state.pointee.writer.writeSmallIntegers(digits.bindMemory(to: UInt16.self))
        }
        state.pointee.writer.closeList()
        state.pointee.writer.closeRecord()
    }

    static func decodeForm(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) throws -> Decimal {
        try parts(kind, in: state) ?? DecodeState.decodeCodable(Decimal.self, kind, in: state)
    }

    private static func parts(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) -> Decimal? {
        guard kind == .namedRecord, let layout = DecimalLayout.known, let keys = state.pointee.keyEntry(Field.self)
        else { return nil }
        return state.pointee.readRecord { state throws(WireError) -> Decimal? in
            guard let exponent = Int8(exactly: try state.readInt(Field.exponent, keys)),
                let length = UInt8(exactly: try state.readInt(Field.length, keys)), length <= 0xf
            else { return nil }
            let isNegative = try state.reader.readBool(try state.require(Field.isNegative, keys))
            let isCompact = try state.reader.readBool(try state.require(Field.isCompact, keys))
            guard try state.require(Field.mantissa, keys) == .list else { return nil }
            var mantissa: DecimalParts.Mantissa = (0, 0, 0, 0, 0, 0, 0, 0)
            let isRead = try withUnsafeMutableBytes(of: &mantissa) { digits throws(WireError) in
                try state.reader.readSmallIntegers(into: digits.bindMemory(to: UInt16.self))
            }
            guard isRead else { return nil }
            return layout.decimal(
                exponent: exponent, length: length, isNegative: isNegative, isCompact: isCompact, mantissa: mantissa)
        }
    }
}

extension URL: CodableForm {
    private enum Field: String, CodingKey {
        case base, relative
    }

    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        guard baseURL == nil else { return try EncodeState.encodeCodable(self, in: state, as: head) }
        let keys = state.pointee.keyEntry(Field.self)
        state.pointee.writer.openRecord(.namedRecord, as: head)
        let field = state.pointee.head(Field.relative, keys)
        state.pointee.writer.write(relativeString, as: field)
        state.pointee.writer.closeRecord()
    }

    static func decodeForm(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) throws -> URL {
        try absolute(kind, in: state) ?? DecodeState.decodeCodable(URL.self, kind, in: state)
    }

    private static func absolute(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) -> URL? {
        guard kind == .namedRecord, let keys = state.pointee.keyEntry(Field.self) else { return nil }
        return state.pointee.readRecord { state throws(WireError) -> URL? in
            let relative = try state.reader.readString(try state.require(Field.relative, keys))
            // A field that follows may be the base.
            guard state.reader.isAtEndOfRecord else { return nil }
            return URL(string: relative)
        }
    }
}

// MARK: - Records without containers

extension DecodeState {
    /// Lends the record at the cursor to `body`.
    /// - Returns: nil, with the cursor where it was, when `body` returns nil or throws, or leaves a field unread.
    @inline(__always)
    fileprivate mutating func readRecord<Value>(
        _ body: (inout DecodeState) throws(WireError) -> Value?
    ) -> Value? {
        let start = reader.bytes.cursor
        let (recordStart, depth) = (reader.recordStart, reader.depth)
        reader.recordStart = start
        defer { (reader.recordStart, reader.depth) = (recordStart, depth) }
        do throws(WireError) {
            // The record, and a list in it.
            guard depth + 2 <= reader.depthMax, let value = try body(&self), reader.isAtEndOfRecord else {
                reader.bytes.cursor = start
                return nil
            }
            reader.bytes.cursor += 1
            return value
        } catch {
            reader.bytes.cursor = start
            return nil
        }
    }

    @inline(__always)
    fileprivate mutating func require<Key: CodingKey>(
        _ key: Key, _ keys: UnsafeMutablePointer<KeyTables.Entry>
    ) throws(WireError) -> WireKind {
        guard let kind = try findNamed(key, keys) else { throw .missing(key) }
        return kind
    }

    @inline(__always)
    fileprivate mutating func readInt<Key: CodingKey>(
        _ key: Key, _ keys: UnsafeMutablePointer<KeyTables.Entry>
    ) throws(WireError) -> Int64 {
        try reader.readInt(try require(key, keys))
    }
}

// MARK: - Lists of small integers

extension CompactWriter {
    /// The elements of a list that has been opened.
    @inline(__always)
    fileprivate mutating func writeSmallIntegers(_ values: UnsafeBufferPointer<UInt16>) {
        bytes.reserve(4 * values.count)
        for value in values {
            bytes.append(WireKind.int.rawValue)
            bytes.appendVarint(UInt32(value) << 1)
        }
    }
}

extension CompactReader {
    fileprivate var isAtEndOfRecord: Bool {
        @inline(__always) get { bytes.remaining > 0 && bytes.cursor.load(as: UInt8.self) == CompactMark.end }
    }

    /// - Returns: false when the list at the cursor is not one of that many 16-bit integers.
    @inline(__always)
    fileprivate mutating func readSmallIntegers(
        into values: UnsafeMutableBufferPointer<UInt16>
    ) throws(WireError) -> Bool {
        guard try readCount() == values.count else { return false }
        for index in values.indices {
            guard let value = UInt16(exactly: try readInt(try readKind())) else { return false }
            values[index] = value
        }
        return true
    }
}
