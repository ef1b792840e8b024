public import MeshFoundation

/// Writes the primitives of the wire format into one growing buffer.
///
/// Integers are little-endian of fixed width or LEB128 of variable length, signed ones zigzag-folded first; see
/// Docs/Internals/WireFormat.md. Noncopyable: the buffer has one owner and is freed with it; `reset` keeps it for the next message.
public struct WireWriter: ~Copyable {
    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// Bytes written so far.
    public internal(set) var count: Int {
        @inlinable @inline(__always) get { position }
        @inlinable @inline(__always) set { position = newValue }
    }
    @usableFromInline var position: Int

    /// An empty buffer with room for that many bytes; it grows by itself.
    @inlinable
    public init(capacity: Int = 256) {
        precondition(capacity > 0, "a writer needs room for one byte")
        self.base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
        self.position = 0
    }

    @inlinable deinit { base.deallocate() }

    /// Forgets what was written and keeps the buffer.
    @inlinable
    public mutating func reset() { position = 0 }

    /// The bytes written so far, valid until the next write.
    @inlinable
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: position) }

    /// A copy of what was written, of exactly that size.
    @inlinable
    public func array() -> [UInt8] {
        // Faster by half than filling uninitialized capacity, which looks the array's class up each time.
        [UInt8](bytes)
    }

    /// A copy of what was written and of what follows it, of exactly that size.
    func array(followedBy rest: UnsafeRawBufferPointer) -> [UInt8] {
        let count = position + rest.count
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            buffer.copyMemory(from: bytes)
            UnsafeMutableRawBufferPointer(rebasing: buffer[position...]).copyMemory(from: rest)
            initialized = count
        }
    }

    /// Makes room for that many more bytes. Writing a struct is faster when this is called once for all of it.
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

    /// Writes eight bytes, IEEE 754.
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
    /// LEB128: seven bits a byte, lowest first; 1 to 10 bytes.
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

    /// Zigzag-folded LEB128, so that small negative numbers are short.
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

    /// The length in bytes as a varint, then UTF-8.
    @inlinable
    public mutating func write(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            writeVarint(UInt64(utf8.count))
            writeRaw(UnsafeRawBufferPointer(utf8))
        }
    }
}

// MARK: - Into reserved room

/// For values of several parts: one `reserve` for all of them, then these, which do not check.
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
