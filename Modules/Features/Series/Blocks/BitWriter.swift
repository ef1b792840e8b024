/// Writes bits, the lowest first.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    /// Up to 7 bits that don't fill a byte yet, in the low bits.
    private var rest: UInt64 = 0
    private var restCount: UInt64 = 0

    /// - Parameters:
    ///   - value: has no bits set above the lowest `count`.
    ///   - count: number of bits, 0 to 56.
    mutating func write(_ value: UInt64, _ count: Int) {
        rest |= value << restCount
        restCount += UInt64(count)
        while restCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
            restCount -= 8
        }
    }

    mutating func writeWord(_ value: UInt64) {
        write(value & 0xFFFF_FFFF, 32)
        write(value >> 32, 32)
    }

    /// Returns all bytes. Zeros fill the last one.
    consuming func finished() -> [UInt8] {
        if restCount > 0 { bytes.append(UInt8(truncatingIfNeeded: rest)) }
        return bytes
    }
}
