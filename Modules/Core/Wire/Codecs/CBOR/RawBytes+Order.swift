extension UnsafeRawBufferPointer {
    /// Negative, 0 or positive: bytewise lexicographic, a beginning before the whole.
    func order(to other: UnsafeRawBufferPointer) -> Int {
        let common = Swift.min(count, other.count)
        var offset = 0
        while offset &+ 8 <= common {
            let left = UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let right = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if left != right { return left < right ? -1 : 1 }
            offset &+= 8
        }
        while offset < common {
            if self[offset] != other[offset] { return self[offset] < other[offset] ? -1 : 1 }
            offset &+= 1
        }
        return count - other.count
    }

    @inline(__always)
    func equals(_ other: UnsafeRawBufferPointer) -> Bool { count == other.count && order(to: other) == 0 }

    /// Eight ASCII bytes at a time, the rest by the standard library.
    var isUTF8: Bool {
        var offset = 0
        while offset &+ 8 <= count {
            if loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { break }
            offset &+= 8
        }
        while offset < count, self[offset] < 0x80 { offset &+= 1 }
        return offset == count || String(validating: self[offset...], as: UTF8.self) != nil
    }
}
