import MeshWire

/// Reads bits that `BitWriter` has written, from bytes that it doesn't own.
struct BitReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Number of bytes read so far, including a byte read in part.
    var byteCount: Int { (position + 7) / 8 }

    /// At least the next 56 bits, with zeros beyond the end.
    private var ahead: UInt64 {
        let first = position >> 3
        let shift = UInt64(position & 7)
        if bytes.count - first >= 8 {
            return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: first, as: UInt64.self)) >> shift
        }
        var word: UInt64 = 0
        for (place, index) in (first..<max(first, bytes.count)).enumerated() {
            word |= UInt64(bytes[index]) << UInt64(8 * place)
        }
        return word >> shift
    }

    private mutating func skip(_ count: Int) throws(WireError) {
        guard bytes.count * 8 - position >= count else {
            throw WireError(.truncated, "a column of numbers ends before its last")
        }
        position += count
    }

    /// - Parameter count: number of bits, 0 to 56.
    mutating func read(_ count: Int) throws(WireError) -> UInt64 {
        let value = ahead & ((1 << UInt64(count)) - 1)
        try skip(count)
        return value
    }

    mutating func readWord() throws(WireError) -> UInt64 { try read(32) | (try read(32)) << 32 }

    /// Skips zeros and the 1 bit after them, and returns the number of zeros. If there are `max` zeros or more, skips
    /// `max` zeros and returns nil.
    /// - Parameter max: at most 55.
    mutating func readUnary(max: Int) throws(WireError) -> Int? {
        let zeros = ahead.trailingZeroBitCount
        guard zeros < max else {
            try skip(max)
            return nil
        }
        try skip(zeros + 1)
        return zeros
    }
}
