public import MeshFoundation

// Variable-length integers. A varint is unsigned LEB128, as in DWARF: seven bits a byte, lowest first, and the high bit
// set on all bytes but the last. Zigzag folding maps a signed n to (n << 1) xor (n >> 63), so that numbers near zero are
// short (as in Protocol Buffers). Both take 1 to 10 bytes. Docs/Internals/WireFormat.md, "Primitives".

/// Writes the primitives of the wire format into one growing buffer.
///
/// Fixed-width integers are little-endian. The writer is noncopyable: the buffer has one owner and is freed with it.
/// `reset` keeps the buffer for the next message.
public struct WireWriter: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// Number of bytes written so far.
    public internal(set) var count: Int {
        @inlinable @inline(__always) get { position }
        @inlinable @inline(__always) set { position = newValue }
    }
    @usableFromInline var position: Int

    /// Creates a writer with an empty buffer of `capacity` bytes. It grows as needed.
    @inlinable
    public init(capacity: Int = 256) {
        precondition(capacity > 0, "capacity must be at least 1")
        self.base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
        self.position = 0
    }

    @inlinable deinit { base.deallocate() }

    /// Discards the written bytes and keeps the buffer.
    @inlinable
    public mutating func reset() { position = 0 }

    /// The bytes written so far, valid until the next write.
    @inlinable
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: position) }

    /// Returns a copy of the written bytes, without spare capacity.
    @inlinable
    public func array() -> [UInt8] {
        // About 1.5 times as fast as filling uninitialized capacity, which looks up the array's class each time.
        [UInt8](bytes)
    }

    /// Returns a copy of the written bytes followed by `rest`, without spare capacity.
    func array(followedBy rest: UnsafeRawBufferPointer) -> [UInt8] {
        let count = position + rest.count
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            buffer.copyMemory(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: buffer[position...]).copyMemory(from: rest)
            initialized = count
        }
    }

    /// Ensures capacity for `additional` more bytes. One call for a complete struct is faster than one for each part.
    @inlinable @inline(__always)
    public mutating func reserve(_ additional: Int) {
        if _slowPath(capacity &- position < additional) { grow(additional) }
    }

    @usableFromInline @inline(never)
    mutating func grow(_ additional: Int) {
        let wanted = max(capacity * 2, position + additional)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
        larger.copyMemory(from: base, byteCount: position)
        base.deallocate()
        base = larger
        capacity = wanted
    }
}

// MARK: - Fixed width

extension WireWriter {
    /// Writes an unsigned integer as one byte.
    @inlinable @inline(__always)
    public mutating func write(_ value: UInt8) {
        reserve(1)
        base.storeBytes(of: value, toByteOffset: position, as: UInt8.self)
        position &+= 1
    }

    /// Writes two bytes, little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: UInt16) {
        reserve(2)
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt16.self)
        position &+= 2
    }

    /// Writes four bytes, little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: UInt32) {
        reserve(4)
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt32.self)
        position &+= 4
    }

    /// Writes eight bytes, little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: UInt64) {
        reserve(8)
        base.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt64.self)
        position &+= 8
    }

    /// Writes a double as eight bytes (IEEE 754), little-endian.
    @inlinable @inline(__always)
    public mutating func write(_ value: Double) { write(value.bitPattern) }

    /// Writes a UUID as 16 bytes.
    @inlinable @inline(__always)
    public mutating func write(_ value: UUID) {
        reserve(16)
        base.storeBytes(of: value.uuid, toByteOffset: position, as: uuid_t.self)
        position &+= 16
    }
}

// MARK: - Variable length

extension WireWriter {
    /// Writes an unsigned integer as LEB128: 1 to 10 bytes.
    @inlinable @inline(__always)
    public mutating func writeVarint(_ value: UInt64) {
        reserve(10)
        var rest = value
        var offset = position
        while _slowPath(rest >= 0x80) {
            base.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: offset, as: UInt8.self)
            rest >>= 7
            offset &+= 1
        }
        base.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: offset, as: UInt8.self)
        position = offset &+ 1
    }

    /// Writes a signed integer as zigzag-folded LEB128, so that small negative numbers are short.
    @inlinable @inline(__always)
    public mutating func writeSignedVarint(_ value: Int64) {
        writeVarint(UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)))
    }

    /// Writes the bytes without their length.
    @inlinable
    public mutating func writeRaw(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        reserve(bytes.count)
        base.advanced(by: position).copyMemory(from: start, byteCount: bytes.count)
        position &+= bytes.count
    }

    /// Writes the bytes without their length.
    @inlinable
    public mutating func writeRaw(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { writeRaw($0) }
    }

    /// Writes a string: its length in bytes as a varint, then UTF-8.
    @inlinable
    public mutating func write(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            writeVarint(UInt64(utf8.count))
            writeRaw(UnsafeRawBufferPointer(utf8))
        }
    }
}

// MARK: - Into reserved space

/// Methods that write without checking the capacity. Call `reserve` first, once for all parts of a value.
extension WireWriter {
    @inlinable @inline(__always)
    mutating func append<Part: BitwiseCopyable>(_ part: Part) {
        base.storeBytes(of: part, toByteOffset: position, as: Part.self)
        position &+= MemoryLayout<Part>.size
    }

    @inlinable @inline(__always)
    mutating func appendVarint<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}
