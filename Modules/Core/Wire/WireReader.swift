public import MeshFoundation

/// Reads the primitives of the wire format from bytes that it doesn't own. `WireWriter` describes the integers.
///
/// A reader is valid only as long as its bytes: don't use it after the closure that lends them. Every read first checks
/// that enough bytes remain. Otherwise it throws `WireError` and doesn't read past the end.
public struct WireReader {
    @usableFromInline var cursor: UnsafeRawPointer
    @usableFromInline let end: UnsafeRawPointer

    /// Creates a reader that starts at the first byte. The bytes must outlive the reader.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address. The placeholder is never read from.
        cursor = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        end = cursor + bytes.count
    }

    /// Number of bytes that haven't been read yet.
    @inlinable @inline(__always)
    public var remaining: Int { end - cursor }

    /// True if every byte has been read.
    @inlinable @inline(__always)
    public var isAtEnd: Bool { cursor == end }

    /// Moves past `count` bytes and returns the address of the first.
    @inlinable @inline(__always)
    mutating func take(_ count: Int) throws(WireError) -> UnsafeRawPointer {
        // Compared as unsigned numbers, so that a negative count is too large.
        if _slowPath(UInt(bitPattern: end - cursor) < UInt(bitPattern: count)) {
            throw .truncated(needed: count, remaining: end - cursor)
        }
        defer { cursor += count }
        return cursor
    }
}

// MARK: - Fixed width

extension WireReader {
    /// Reads one byte as an unsigned integer.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readUInt8() throws(WireError) -> UInt8 { try take(1).load(as: UInt8.self) }

    /// Reads two bytes, little-endian.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readUInt16() throws(WireError) -> UInt16 {
        UInt16(littleEndian: try take(2).loadUnaligned(as: UInt16.self))
    }

    /// Reads four bytes, little-endian.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readUInt32() throws(WireError) -> UInt32 {
        UInt32(littleEndian: try take(4).loadUnaligned(as: UInt32.self))
    }

    /// Reads eight bytes, little-endian.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readUInt64() throws(WireError) -> UInt64 {
        UInt64(littleEndian: try take(8).loadUnaligned(as: UInt64.self))
    }

    /// Reads eight bytes as an IEEE 754 double and keeps every bit, even of a NaN.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readDouble() throws(WireError) -> Double { Double(bitPattern: try readUInt64()) }

    /// Reads sixteen bytes as a UUID.
    ///
    /// - Throws: `truncated`.
    @inlinable @inline(__always)
    public mutating func readUUID() throws(WireError) -> UUID {
        // A UUID is stored as these bytes. Its initializer would be a call into Foundation.
        unsafeBitCast(try take(16).loadUnaligned(as: uuid_t.self), to: UUID.self)
    }
}

// MARK: - Variable length

extension WireReader {
    /// Reads an unsigned LEB128 of at most ten bytes.
    ///
    /// - Throws: `truncated`; `corrupted` above 64 bits.
    @inlinable @inline(__always)
    public mutating func readVarint() throws(WireError) -> UInt64 {
        let first = try readUInt8()
        if _fastPath(first < 0x80) { return UInt64(first) }
        return try readLongVarint(first)
    }

    @usableFromInline
    mutating func readLongVarint(_ first: UInt8) throws(WireError) -> UInt64 {
        if remaining >= 7 {
            let word = UInt64(littleEndian: (cursor - 1).loadUnaligned(as: UInt64.self))
            let ends = ~word & 0x8080_8080_8080_8080
            if ends != 0 {
                let bits = ends.trailingZeroBitCount
                cursor += bits / 8
                // Masks the 7-bit groups up to the last byte, then joins pairs of groups, then pairs of pairs.
                var groups = word & (UInt64.max >> UInt64(63 - bits)) & 0x7F7F_7F7F_7F7F_7F7F
                groups = groups & 0x007F_007F_007F_007F | (groups & 0x7F00_7F00_7F00_7F00) >> 1
                groups = groups & 0x0000_3FFF_0000_3FFF | (groups & 0x3FFF_0000_3FFF_0000) >> 2
                return groups & 0x0FFF_FFFF | (groups & 0x0FFF_FFFF_0000_0000) >> 4
            }
        }
        return try readVarintBytes(first)
    }

    private mutating func readVarintBytes(_ first: UInt8) throws(WireError) -> UInt64 {
        var value = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = try readUInt8()
            if shift == 63, byte > 1 { throw WireError(.corrupted, "a variable-length integer exceeds 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// Reads a zigzag-folded LEB128.
    ///
    /// - Throws: the errors of ``readVarint()``.
    @inlinable @inline(__always)
    public mutating func readSignedVarint() throws(WireError) -> Int64 {
        let folded = try readVarint()
        return Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    /// Reads a length in bytes, and checks that so many bytes follow.
    @inlinable @inline(__always)
    public mutating func readLength() throws(WireError) -> Int {
        let length = try readVarint()
        if _slowPath(length > UInt64(end - cursor)) {
            throw .truncated(needed: Int(clamping: length), remaining: end - cursor)
        }
        return Int(truncatingIfNeeded: length)
    }

    /// Returns the next `count` bytes without copying them. They are valid as long as the reader's own bytes.
    ///
    /// - Throws: `truncated` if fewer bytes remain, or if `count` is negative.
    @inlinable @inline(__always)
    public mutating func readRaw(_ count: Int) throws(WireError) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: try take(count), count: count)
    }

    /// Returns a reader for the length-prefixed region at the cursor, and moves past the region.
    @inlinable @inline(__always)
    public mutating func readRegion() throws(WireError) -> WireReader {
        let length = try readLength()
        return WireReader(try readRaw(length))
    }

    /// Reads a length in bytes, then a string in UTF-8.
    ///
    /// - Throws: `truncated`; `corrupted` if the bytes aren't UTF-8.
    @inlinable
    public mutating func readString() throws(WireError) -> String {
        let length = try readLength()
        return try String(wire: try readRaw(length))
    }
}
