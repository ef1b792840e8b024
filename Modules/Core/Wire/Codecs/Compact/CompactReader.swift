public import MeshFoundation

/// Reads values in the `compact` format: the direct path, without Codable.
///
/// Passed to `WireCodable` conformances. Apps don't create one. Valid only during the call that lends it.
public struct CompactReader: ~Copyable {
    // The order of the properties matters. Entering and leaving a record saves and restores `recordStart`, `lastField` and
    // `nameMask` as single words. If two of them were adjacent, one wide load would follow two narrow stores, and the
    // processor would wait for the stores.
    @usableFromInline var bytes: WireReader
    @usableFromInline private(set) var base: UnsafeRawPointer
    /// Address of the first field of the current record.
    @usableFromInline var recordStart: UnsafeRawPointer
    @usableFromInline var depth = 0
    /// Number of the field that was read last in the current record.
    @usableFromInline var lastField: UInt32 = 0
    @usableFromInline let depthMax: Int
    /// 0x100 in a named record, so that no head compares equal to a numbered one; else 0.
    @usableFromInline var nameMask: UInt32 = 0
    @usableFromInline var names = NameIndex()
    @usableFromInline var strings = StringIndex()

    @usableFromInline
    init(_ message: UnsafeRawBufferPointer, depthMax: Int = 32) throws(WireError) {
        bytes = WireReader(message)
        base = bytes.cursor
        recordStart = bytes.cursor
        self.depthMax = depthMax
        guard message.count <= UInt32.max else {
            throw WireError(.oversized, "a message of \(message.count) bytes exceeds 4 GiB")
        }
    }

    /// Discards the texts that were read, so that another reader can use the tables.
    mutating func removeTexts() {
        names.removeAll()
        strings.removeAll()
    }

    /// - Throws: `trailingBytes`.
    @inlinable
    func checkEnd() throws(WireError) {
        if _slowPath(bytes.remaining > 0) {
            throw WireError(.trailingBytes, "\(bytes.remaining) bytes follow the value")
        }
    }

    /// Offset of the next byte in the message.
    var offset: Int { bytes.cursor - base }
}

// MARK: - Kinds and integers

extension CompactReader {
    /// Reads the kind of a list element, or of a message without names in front.
    @inlinable @inline(__always)
    public mutating func readKind() throws(WireError) -> WireKind { WireKind(rawValue: try bytes.readUInt8()) }

    /// Reads the kind of the message, and numbers the names in front of it, if any.
    @inlinable @inline(__always)
    mutating func readFirstKind() throws(WireError) -> WireKind {
        let kind = try readKind()
        return _fastPath(kind != .names) ? kind : try readNamesAndKind()
    }

    @usableFromInline
    mutating func readNamesAndKind() throws(WireError) -> WireKind {
        let count = try readCount()
        guard count <= CompactLimit.texts else {
            throw WireError(.oversized, "\(count) names exceed the limit of \(CompactLimit.texts)")
        }
        for _ in 0..<count { try readNameDefinition() }
        return try readKind()
    }

    /// Returns the kind that the low bits of a field's head announce.
    @inlinable @inline(__always)
    mutating func readKind(low bits: UInt64) throws(WireError) -> WireKind {
        if bits < 7 { return WireKind(rawValue: UInt8(truncatingIfNeeded: bits)) }
        let kind = WireKind(rawValue: try bytes.readUInt8())
        if _slowPath(kind.rawValue < 8) { throw WireError(.corrupted, "kind \(kind.rawValue) is not an extended kind") }
        return kind
    }

    /// Reads an integer of any fixed width, regardless of the width that was written.
    ///
    /// - Throws: `typeMismatch`; `invalidValue` if `Value` can't hold the number; `corrupted`, `truncated`.
    @inlinable @inline(__always)
    public mutating func readInteger<Value: FixedWidthInteger>(
        _ kind: WireKind, as type: Value.Type = Value.self
    ) throws(WireError) -> Value {
        if _fastPath(kind == .int) {
            let number = try bytes.readSignedVarint()
            if let value = Value(exactly: number) { return value }
            throw .outOfRange("\(number)", Value.self)
        }
        return try readWideInteger(kind)
    }

    @usableFromInline
    mutating func readWideInteger<Value: FixedWidthInteger>(_ kind: WireKind) throws(WireError) -> Value {
        switch kind {
        case .uint:
            let number = try bytes.readVarint()
            if let value = Value(exactly: number) { return value }
            throw .outOfRange("\(number)", Value.self)
        case .int128, .uint128:
            let low = try bytes.readUInt64()
            let high = try bytes.readUInt64()
            guard Value.bitWidth == 128, Value.isSigned == (kind == .int128) || high >> 63 == 0 else {
                throw .outOfRange("a 128-bit integer", Value.self)
            }
            return Value(truncatingIfNeeded: high) << 64 | Value(truncatingIfNeeded: low)
        default:
            throw .mismatch(kind, wanted: "an integer")
        }
    }
}

// MARK: - Other scalars

extension CompactReader {
    /// Reads one Boolean value. Its kind is its value.
    ///
    /// - Throws: `typeMismatch`.
    @inlinable @inline(__always)
    public mutating func readBool(_ kind: WireKind) throws(WireError) -> Bool {
        if kind == .true { return true }
        if _fastPath(kind == .false) { return false }
        throw .mismatch(kind, wanted: "a Boolean")
    }

    /// Reads a 64-bit floating-point number. Accepts a `Float`, and an `Int64` that a `Double` represents exactly.
    ///
    /// - Throws: `typeMismatch`, `invalidValue`, `truncated`.
    @inlinable @inline(__always)
    public mutating func readDouble(_ kind: WireKind) throws(WireError) -> Double {
        if _fastPath(kind == .double) { return try bytes.readDouble() }
        return try readOtherDouble(kind)
    }

    @usableFromInline
    mutating func readOtherDouble(_ kind: WireKind) throws(WireError) -> Double {
        switch kind {
        case .float: return Double(Float(bitPattern: try bytes.readUInt32()))
        case .int:
            let number = try bytes.readSignedVarint()
            guard let value = Double(exactly: number) else { throw .outOfRange("\(number)", Double.self) }
            return value
        default: throw .mismatch(kind, wanted: "a floating-point number")
        }
    }

    /// Reads a 32-bit floating-point number.
    ///
    /// - Throws: `invalidValue` for a finite number that is too large for a `Float`, `typeMismatch`, `truncated`.
    @inlinable @inline(__always)
    public mutating func readFloat(_ kind: WireKind) throws(WireError) -> Float {
        if _fastPath(kind == .float) { return Float(bitPattern: try bytes.readUInt32()) }
        let wide = try readDouble(kind)
        let value = Float(wide)
        if value.isInfinite, wide.isFinite { throw .outOfRange("\(wide)", Float.self) }
        return value
    }

    /// Reads a UUID from 16 bytes or from text.
    ///
    /// - Throws: `typeMismatch`, `invalidValue`, `corrupted`, `truncated`.
    @inlinable @inline(__always)
    public mutating func readUUID(_ kind: WireKind) throws(WireError) -> UUID {
        if _fastPath(kind == .uuid) { return try bytes.readUUID() }
        return try readTextUUID(kind)
    }

    /// Reads a UUID from the text that other codecs write.
    @usableFromInline
    mutating func readTextUUID(_ kind: WireKind) throws(WireError) -> UUID {
        guard kind == .string || kind == .repeatedString else { throw .mismatch(kind, wanted: "a UUID") }
        let text = try readString(kind)
        guard let value = UUID(uuidString: text) else { throw .outOfRange(text, UUID.self) }
        return value
    }
}

// MARK: - Texts and bytes

extension CompactReader {
    /// Reads a string, or a reference to an earlier string of the message.
    ///
    /// - Throws: `typeMismatch`, `corrupted`, `truncated`.
    public mutating func readString(_ kind: WireKind) throws(WireError) -> String {
        switch kind {
        case .string:
            let length = try bytes.readLength()
            // Numbered first: a type may catch the error of an invalid string and continue.
            strings.define(offset: offset, count: length)
            return try String(wire: try bytes.readRaw(length))
        case .repeatedString:
            return try strings.text(try bytes.readVarint(), in: base)
        default:
            throw .mismatch(kind, wanted: "a string")
        }
    }

    /// Reads bytes, which are valid as long as the message.
    public mutating func readBytes(_ kind: WireKind) throws(WireError) -> UnsafeRawBufferPointer {
        guard kind == .bytes else { throw .mismatch(kind, wanted: "bytes") }
        let length = try bytes.readLength()
        return try bytes.readRaw(length)
    }

    /// Reads a name definition after its mark, and numbers the name.
    @discardableResult
    mutating func readNameDefinition() throws(WireError) -> UnsafeRawBufferPointer {
        let text = try readName()
        names.define(offset: text.baseAddress.map { $0 - base } ?? offset, count: text.count)
        return text
    }

    /// - Throws: `WireError.Code.corrupted` unless the name is UTF-8.
    mutating func readName() throws(WireError) -> UnsafeRawBufferPointer {
        let length = try bytes.readLength()
        let text = try bytes.readRaw(length)
        if offset - length > lastNameOffset, !text.isASCII { _ = try String(wire: text) }
        return text
    }

    /// Offset of the name that was numbered last. Names up to this offset are known to be UTF-8.
    private var lastNameOffset: Int { names[names.count - 1].map { Int($0.offset) } ?? -1 }

    /// Returns the UTF-8 of the name with that number.
    func name(_ number: UInt64) throws(WireError) -> UnsafeRawBufferPointer {
        guard number > 0, let entry = names[Int(clamping: number) - 1] else {
            throw WireError(.corrupted, "name \(number) has not been defined yet")
        }
        return UnsafeRawBufferPointer(start: base + Int(entry.offset), count: Int(entry.count))
    }
}

// MARK: - Skipping

extension CompactReader {
    /// Moves past a value. Numbers the names and strings in it, because later values can refer to them.
    mutating func skip(_ kind: WireKind) throws(WireError) {
        switch kind {
        case .int, .uint, .repeatedString: _ = try bytes.readVarint()
        case .double: _ = try bytes.take(8)
        case .float: _ = try bytes.take(4)
        case .uuid, .int128, .uint128: _ = try bytes.take(16)
        case .nil, .true, .false, .absent: break
        case .string:
            let length = try bytes.readLength()
            strings.define(offset: offset, count: length)
            _ = try bytes.take(length)
        case .bytes: _ = try bytes.take(try bytes.readLength())
        case .record, .namedRecord:
            try descend()
            try skipFields(named: kind == .namedRecord)
            ascend()
        case .list:
            let count = try readCount()
            try descend()
            for _ in 0..<count { try skip(try readKind()) }
            ascend()
        case .some:
            try descend()
            try skip(try readKind())
            ascend()
        case .ints, .uints:
            let count = try readCount()
            for _ in 0..<count { _ = try bytes.readVarint() }
        default:
            guard let width = kind.blockWidth else { throw WireError(.corrupted, "kind \(kind.rawValue) is unknown") }
            _ = try bytes.take(try readCount(width: width) * width)
        }
    }

    /// Moves past the remaining fields of a record and past its end.
    @usableFromInline
    mutating func skipFields(named: Bool) throws(WireError) {
        while let kind = try readFieldKind(named: named) { try skip(kind) }
    }

    /// Reads the kind of the next field, whatever its name; nil after the end of the record.
    private mutating func readFieldKind(named: Bool) throws(WireError) -> WireKind? {
        while true {
            let head = try bytes.readVarint()
            if _fastPath(head > 7) { return try readKind(low: head & 7) }
            if head == UInt64(CompactMark.end) { return nil }
            guard named else { throw .unknownMark(head) }
            switch UInt8(truncatingIfNeeded: head) {
            case CompactMark.nameDefinition: try readNameDefinition()
            case CompactMark.name:
                _ = try readName()
                return try readKind()
            default: throw .unknownMark(head)
            }
        }
    }

    @inlinable @inline(__always)
    mutating func descend() throws(WireError) {
        depth &+= 1
        if _slowPath(depth > depthMax) { throw .tooDeep(depthMax) }
    }

    @inlinable @inline(__always)
    mutating func ascend() { depth &-= 1 }
}

// MARK: - Counts

extension CompactReader {
    /// Reads the count of a list or block whose elements take at least `width` bytes each.
    @inlinable
    mutating func readCount(width: Int = 1) throws(WireError) -> Int {
        let count = try bytes.readVarint()
        if _slowPath(count > UInt64(bytes.remaining / width)) {
            throw .truncated(needed: Int(clamping: count), remaining: bytes.remaining)
        }
        return Int(truncatingIfNeeded: count)
    }

    /// Checks that a list of `count` elements takes at most 64 KiB of memory plus 64 bytes for each byte left. An element
    /// may take one byte on the wire and hundreds in memory.
    @inlinable @inline(__always)
    func checkMemory<Element>(of count: Int, _ type: Element.Type) throws(WireError) {
        let (memory, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        if _slowPath(overflow || memory > 65_536 + 64 * bytes.remaining) { throw .outOfProportion(count, type) }
    }
}

extension WireKind {
    /// Bytes per element of a fixed-width block; nil for other kinds.
    var blockWidth: Int? {
        switch self {
        case .int8s: 1
        case .int16s, .uint16s: 2
        case .floats, .int32s, .uint32s: 4
        case .doubles: 8
        case .uuids: 16
        default: nil
        }
    }
}

// MARK: - Errors and texts

extension WireError {
    @usableFromInline @inline(never)
    static func mismatch(_ kind: WireKind, wanted: String) -> WireError {
        WireError(.typeMismatch, "\(wanted) was expected, found \(kind)")
    }

    @usableFromInline @inline(never)
    static func outOfRange(_ value: String, _ type: Any.Type) -> WireError {
        WireError(.invalidValue, "\(value) is not a value of \(type)")
    }

    @usableFromInline @inline(never)
    static func outOfProportion(_ count: Int, _ type: Any.Type) -> WireError {
        WireError(.oversized, "\(count) elements of \(type) would need too much memory for their encoded size")
    }

    @usableFromInline @inline(never)
    static func tooDeep(_ depthMax: Int) -> WireError {
        WireError(.tooDeep, "values are nested more than \(depthMax) levels deep")
    }

    static var invalidText: WireError { WireError(.corrupted, "a string is not valid UTF-8") }

    static func unknownMark(_ head: UInt64) -> WireError { WireError(.corrupted, "field head \(head) is unknown") }
}

extension String {
    /// - Throws: `WireError.Code.corrupted` unless the bytes are UTF-8.
    @usableFromInline
    init(wire bytes: UnsafeRawBufferPointer) throws(WireError) {
        // Decoding repairs invalid UTF-8, and then the string no longer equals the bytes. `String(validating:as:)` needs newer
        // systems and is slower.
        self = String(decoding: bytes, as: UTF8.self)
        guard equals(bytes) else { throw .invalidText }
    }
}
