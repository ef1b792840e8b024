public import MeshFoundation

/// Writes values in the `compact` format: the direct path, without Codable.
///
/// Passed to `WireCodable` conformances. Apps don't create one. A failure (nesting beyond the limit, or two keys with
/// one name) is stored and thrown at the end of the message, so conformances need not throw.
public struct CompactWriter: ~Copyable {
    @usableFromInline var bytes: WireWriter
    @usableFromInline var depth = 0
    /// The first failure of this message; nil while it can be written.
    @usableFromInline var failure: WireError?
    @usableFromInline var names = TextNumbering()
    /// True if names are collected in `firstNames`, and put in front of the value when the message is complete.
    var putsNamesFirst = false
    /// The lengths and texts of the names that go in front of the value.
    private(set) var firstNames = WireWriter(capacity: 64)
    @usableFromInline var strings = TextNumbering()
    @usableFromInline var cases = EnumCaseCache()
    /// True if equal values must give equal bytes, which means sorting sets and dictionaries.
    @usableFromInline private(set) var isDeterministic: Bool
    @usableFromInline private(set) var depthMax: Int

    init(
        bytes: consuming WireWriter, mode: CompactCodec.Mode = .fast, depthMax: Int = CompactLimit.depth
    ) {
        self.bytes = bytes
        self.isDeterministic = mode == .deterministic
        self.depthMax = depthMax
    }

    /// Discards the message and keeps the memory for the next one.
    mutating func reset(mode: CompactCodec.Mode, depthMax: Int) {
        if bytes.capacity <= CoderScratch.bytesMax { bytes.reset() } else { bytes = WireWriter(capacity: 512) }
        depth = 0
        failure = nil
        names.removeAll()
        putsNamesFirst = false
        if firstNames.capacity <= CoderScratch.nameBytesMax { firstNames.reset() } else { firstNames = WireWriter() }
        strings.removeAll()
        cases.last = -1
        isDeterministic = mode == .deterministic
        self.depthMax = depthMax
    }
}

// MARK: - Scalars

extension CompactWriter {
    /// Maximum number of bytes in a value's head: a field number and a kind.
    @inlinable static var headBytesMax: Int { 6 }

    /// Writes a head. The caller must have reserved `headBytesMax` bytes.
    @inlinable @inline(__always)
    mutating func writeHead(_ head: WireHead, _ kind: WireKind) {
        if head.field == 0 { return bytes.append(kind.rawValue) }
        if kind.rawValue < WireKind.extended.rawValue {
            bytes.appendVarint(head.field << 3 | UInt32(kind.rawValue))
        } else {
            bytes.appendVarint(head.field << 3 | 7)
            bytes.append(kind.rawValue)
        }
    }

    /// Writes nil as a field.
    @inlinable @inline(__always)
    public mutating func writeNil(as head: WireHead) {
        bytes.reserve(Self.headBytesMax)
        writeHead(head, .nil)
    }

    /// Writes a Boolean as its kind, without content.
    @inlinable @inline(__always)
    public mutating func write(_ value: Bool, as head: WireHead) {
        bytes.reserve(Self.headBytesMax)
        writeHead(head, value ? .true : .false)
    }

    /// Writes a floating-point number as 8 bytes, little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: Double, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 8)
        writeHead(head, .double)
        let isOnlyNaN = _slowPath(value.isNaN) && isDeterministic
        bytes.append((isOnlyNaN ? .nan : value).bitPattern.littleEndian)
    }

    /// Writes a floating-point number as 4 bytes, little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: Float, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 4)
        writeHead(head, .float)
        let isOnlyNaN = _slowPath(value.isNaN) && isDeterministic
        bytes.append((isOnlyNaN ? .nan : value).bitPattern.littleEndian)
    }

    /// Writes an integer as a zigzag-folded varint: 1 to 10 bytes.
    @inlinable @inline(__always)
    public mutating func write(_ value: Int64, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .int)
        bytes.appendVarint(UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)))
    }

    /// Writes an unsigned integer. If `Int64` can hold it, writes it as a signed one.
    @inlinable @inline(__always)
    public mutating func write(_ value: UInt64, as head: WireHead) {
        if _fastPath(value <= UInt64(Int64.max)) { return write(Int64(bitPattern: value), as: head) }
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .uint)
        bytes.appendVarint(value)
    }

    /// Writes a signed 128-bit integer, low word first. If 64 bits can hold it, writes it as a 64-bit integer.
    public mutating func write(high: Int64, low: UInt64, as head: WireHead) {
        if high == 0 { return write(low, as: head) }
        if high == -1, low >> 63 == 1 { return write(Int64(bitPattern: low), as: head) }
        bytes.reserve(Self.headBytesMax + 16)
        writeHead(head, .int128)
        bytes.append(low.littleEndian)
        bytes.append(high.littleEndian)
    }

    /// Writes an unsigned 128-bit integer, low word first. If `Int128` can hold it, writes it as a signed one.
    public mutating func write(high: UInt64, low: UInt64, as head: WireHead) {
        if high >> 63 == 0 { return write(high: Int64(bitPattern: high), low: low, as: head) }
        bytes.reserve(Self.headBytesMax + 16)
        writeHead(head, .uint128)
        bytes.append(low.littleEndian)
        bytes.append(high.littleEndian)
    }

    /// Writes a UUID as 16 bytes.
    @inlinable @inline(__always)
    public mutating func write(_ value: UUID, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 16)
        writeHead(head, .uuid)
        bytes.append(value.uuid)
    }
}

// MARK: - Texts and bytes

extension CompactWriter {
    /// Writes a string, or a reference if the message already has it.
    public mutating func write(_ value: String, as head: WireHead) {
        let isWritten: Void? = value.utf8.withContiguousStorageIfAvailable {
            write(text: UnsafeRawBufferPointer($0), as: head)
        }
        if isWritten == nil {
            var value = value
            value.withUTF8 { write(text: UnsafeRawBufferPointer($0), as: head) }
        }
    }

    private mutating func write(text: UnsafeRawBufferPointer, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 10 + text.count)
        if text.count >= CompactLimit.repeatedStringBytesMin {
            let hash = TextNumbering.hash(text)
            if let index = strings.find(text, hash: hash, in: bytes.base) {
                cases.last = index
                writeHead(head, .repeatedString)
                return bytes.appendVarint(UInt64(truncatingIfNeeded: index))
            }
            writeHead(head, .string)
            bytes.appendVarint(UInt64(text.count))
            cases.last = strings.count < CompactLimit.texts ? strings.count : -1
            strings.define(text, hash: hash, offset: bytes.position)
        } else {
            cases.last = -1
            writeHead(head, .string)
            bytes.appendVarint(UInt64(text.count))
        }
        bytes.writeRaw(text)
    }

    /// Writes a length, then the bytes.
    public mutating func write(_ value: UnsafeRawBufferPointer, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 10 + value.count)
        writeHead(head, .bytes)
        bytes.writeVarint(UInt64(value.count))
        bytes.writeRaw(value)
    }

    /// Writes a block of numbers whose memory layout is that of the wire.
    @usableFromInline
    mutating func writeBlock(_ raw: UnsafeRawBufferPointer, count: Int, _ kind: WireKind, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 10 + raw.count)
        writeHead(head, kind)
        bytes.writeVarint(UInt64(count))
        bytes.writeRaw(raw)
    }
}

// MARK: - Records and lists

extension CompactWriter {
    /// Opens a record. `closeRecord` ends it.
    @inlinable @inline(__always)
    mutating func openRecord(_ kind: WireKind, as head: WireHead) {
        bytes.reserve(Self.headBytesMax)
        writeHead(head, kind)
        descend()
    }

    @inlinable @inline(__always)
    mutating func closeRecord() {
        bytes.write(0 as UInt8)
        ascend()
    }

    /// Opens a list of known length. Write the elements as `.element`, then call `closeList`.
    @inlinable
    public mutating func openList(count: Int, as head: WireHead) {
        bytes.reserve(Self.headBytesMax + 10)
        writeHead(head, .list)
        bytes.appendVarint(UInt64(count))
        descend()
    }

    /// Ends the innermost open list.
    @inlinable @inline(__always)
    public mutating func closeList() { ascend() }

    @inlinable @inline(__always)
    mutating func descend() {
        depth &+= 1
        if _slowPath(depth > depthMax) { failTooDeep() }
    }

    @inlinable @inline(__always)
    mutating func ascend() { depth &-= 1 }

    @usableFromInline @inline(never)
    mutating func failTooDeep() {
        fail(WireError(.tooDeep, "values are nested more than \(depthMax) levels deep"))
    }

    /// Stores the first failure and ignores later ones.
    mutating func fail(_ error: WireError) {
        if failure == nil { failure = error }
    }

    /// Opens a field of a named record, and defines its name if it is new.
    /// - Returns: The head for the field's value.
    mutating func writeName(_ name: String) -> WireHead {
        var name = name
        return name.withUTF8 { utf8 in
            let text = UnsafeRawBufferPointer(utf8)
            return writeName(text, hash: TextNumbering.hash(text))
        }
    }

    /// - Parameter isPadded: True if 32 bytes are readable at the text's address. The text then has at most 32 bytes.
    mutating func writeName(_ text: UnsafeRawBufferPointer, hash: UInt32, isPadded: Bool = false) -> WireHead {
        if let index = names.find(text, hash: hash, in: putsNamesFirst ? firstNames.base : bytes.base) {
            return WireHead(field: UInt32(truncatingIfNeeded: index) &+ 1)
        }
        if putsNamesFirst, names.count < CompactLimit.texts {
            firstNames.writeVarint(UInt64(text.count))
            names.define(text, hash: hash, offset: firstNames.position)
            firstNames.writeRaw(text)
            return WireHead(field: UInt32(truncatingIfNeeded: names.count))
        }
        let isNumbered = names.count < CompactLimit.texts
        bytes.reserve(11 + max(text.count, 32))
        bytes.append(isNumbered ? CompactMark.nameDefinition : CompactMark.name)
        bytes.appendVarint(UInt64(text.count))
        if isNumbered { names.define(text, hash: hash, offset: bytes.position) }
        if isPadded, let start = text.baseAddress {
            // A copy of constant size compiles to two moves, instead of a call.
            bytes.base.advanced(by: bytes.position).copyMemory(from: start, byteCount: 32)
            bytes.position &+= text.count
        } else {
            bytes.writeRaw(text)
        }
        return isNumbered ? WireHead(field: UInt32(truncatingIfNeeded: names.count)) : .element
    }
}

extension CompactWriter {
    /// Returns the complete message.
    func message() -> [UInt8] {
        guard putsNamesFirst, names.count > 0 else { return bytes.array() }
        var head = WireWriter(capacity: firstNames.count + 16)
        head.write(WireKind.names.rawValue)
        head.writeVarint(UInt64(names.count))
        head.writeRaw(firstNames.bytes)
        return head.array(followedBy: bytes.bytes)
    }
}

/// Heads that aren't fields. They appear in a record where a field's head would.
@usableFromInline
enum CompactMark {
    /// The record ends.
    @usableFromInline static let end: UInt8 = 0
    /// Defines a name, which gets the next number. The field's head follows.
    @usableFromInline static let nameDefinition: UInt8 = 1
    /// Gives a name without a number. A kind and the value follow.
    @usableFromInline static let name: UInt8 = 2
}
