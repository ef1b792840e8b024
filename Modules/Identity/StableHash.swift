/// MurmurHash3, x64, 128 bits: the same value on every system and in every version.
///
/// Not for secrets and not against a peer who means harm: it names events and fingerprints states.
/// Source: Austin Appleby, MurmurHash3 (public domain), checked against its published vectors.
package struct StableHash: Hashable, Sendable, CustomStringConvertible {
    package let low: UInt64
    package let high: UInt64

    package init(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) {
        var h1 = seed
        var h2 = seed
        var offset = 0
        while bytes.count - offset >= 16 {
            h1 ^= Self.scramble1(bytes.littleEndianWord(at: offset))
            h1 = (h1.rotated(left: 27) &+ h2) &* 5 &+ 0x52dc_e729
            h2 ^= Self.scramble2(bytes.littleEndianWord(at: offset + 8))
            h2 = (h2.rotated(left: 31) &+ h1) &* 5 &+ 0x3849_5ab5
            offset += 16
        }
        let rest = bytes.count - offset
        if rest > 8 { h2 ^= Self.scramble2(bytes.littleEndianWord(at: offset + 8, count: rest - 8)) }
        if rest > 0 { h1 ^= Self.scramble1(bytes.littleEndianWord(at: offset, count: min(rest, 8))) }

        h1 ^= UInt64(bytes.count)
        h2 ^= UInt64(bytes.count)
        h1 &+= h2
        h2 &+= h1
        h1 = Self.finish(h1)
        h2 = Self.finish(h2)
        h1 &+= h2
        h2 &+= h1
        low = h1
        high = h2
    }

    package init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { StableHash($0) }
    }

    /// 32 hexadecimal digits.
    package var description: String { low.hexDigits + high.hexDigits }

    private static func scramble1(_ word: UInt64) -> UInt64 {
        (word &* 0x87c3_7b91_1142_53d5).rotated(left: 31) &* 0x4cf5_ad43_2745_937f
    }

    private static func scramble2(_ word: UInt64) -> UInt64 {
        (word &* 0x4cf5_ad43_2745_937f).rotated(left: 33) &* 0x87c3_7b91_1142_53d5
    }

    private static func finish(_ word: UInt64) -> UInt64 {
        var word = word
        word ^= word >> 33
        word = word &* 0xff51_afd7_ed55_8ccd
        word ^= word >> 33
        word = word &* 0xc4ce_b9fe_1a85_ec53
        word ^= word >> 33
        return word
    }
}

extension UInt64 {
    fileprivate func rotated(left bits: UInt64) -> UInt64 { self << bits | self >> (64 - bits) }

    fileprivate var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func littleEndianWord(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    fileprivate func littleEndianWord(at offset: Int, count: Int) -> UInt64 {
        let end = offset + count
        if end >= 8 { return littleEndianWord(at: end - 8) &>> UInt64(64 - 8 * count) }
        var word: UInt64 = 0
        for index in 0..<count { word |= UInt64(self[offset + index]) << UInt64(8 * index) }
        return word
    }
}
