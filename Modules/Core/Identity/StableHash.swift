package import MeshFoundation

/// MurmurHash3, x64, 128 bits: the same value on every system and in every version.
///
/// For IDs of events and fingerprints of states. Not for secrets: a hostile peer can find collisions. Source: Austin
/// Appleby, MurmurHash3 (public domain), checked against its published vectors.
package struct StableHash: Hashable, Sendable, CustomStringConvertible {
    package let low: UInt64
    package let high: UInt64

    package init(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) {
        let mixing = Mixing.constants
        var h1 = seed
        // The second half without its last summand. Each block depends on the one before, so additions on that path
        // determine the time for a large input. This one is added off the path.
        var sum2 = seed &- mixing.summand2
        var h2 = seed
        if var cursor = bytes.baseAddress {
            var rest = bytes.count
            while rest >= 16 {
                h2 = sum2 &+ mixing.summand2
                let mixed1 = h1 ^ mixing.scramble1(cursor.littleEndianWord(at: 0))
                let sum1 = mixed1.rotated(left: 27) &+ mixing.summand2 &+ sum2
                h1 = sum1 &* 5 &+ mixing.summand1
                let mixed2 = h2 ^ mixing.scramble2(cursor.littleEndianWord(at: 8))
                sum2 = (h1 &+ mixed2.rotated(left: 31)) &* 5
                cursor += 16
                rest &-= 16
            }
            h2 = sum2 &+ mixing.summand2
            if rest > 8 { h2 ^= mixing.scramble2((cursor + 8).littleEndianWord(count: rest &- 8)) }
            if rest >= 8 {
                h1 ^= mixing.scramble1(cursor.littleEndianWord(at: 0))
            } else if rest > 0 {
                h1 ^= mixing.scramble1(cursor.littleEndianWord(count: rest))
            }
        }
        h1 ^= UInt64(truncatingIfNeeded: bytes.count)
        h2 ^= UInt64(truncatingIfNeeded: bytes.count)
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

extension UUID {
    /// A UUID of version 8 (RFC 9562, 5.8).
    package init(_ hash: StableHash) {
        var bytes: [UInt8] = []
        for half in [hash.high, hash.low] {
            withUnsafeBytes(of: half.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// The constants of the algorithm.
///
/// They are parsed at run time, so that the compiler doesn't know them. It would split a rotated product with a known
/// factor into two products, and make longer chains of sums with known summands. Together, that nearly doubles the time
/// for a large input.
private struct Mixing {
    let factor1 = Mixing.word("87c37b91114253d5")
    let factor2 = Mixing.word("4cf5ad432745937f")
    let summand1 = Mixing.word("52dce729")
    let summand2 = Mixing.word("38495ab5")

    static let constants = Mixing()

    @inline(__always)
    func scramble1(_ word: UInt64) -> UInt64 { (word &* factor1).rotated(left: 31) &* factor2 }

    @inline(__always)
    func scramble2(_ word: UInt64) -> UInt64 { (word &* factor2).rotated(left: 33) &* factor1 }

    private static func word(_ digits: String) -> UInt64 { UInt64(digits, radix: 16) ?? 0 }
}

extension UInt64 {
    @inline(__always)
    fileprivate func rotated(left bits: UInt64) -> UInt64 { self &<< bits | self &>> (64 &- bits) }

    fileprivate var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension UnsafeRawPointer {
    @inline(__always)
    fileprivate func littleEndianWord(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Reads one to seven bytes: as two words that may overlap, or as three bytes that may be the same.
    @inline(__always)
    fileprivate func littleEndianWord(count: Int) -> UInt64 {
        if count >= 4 {
            let low = UInt32(littleEndian: loadUnaligned(as: UInt32.self))
            let high = UInt32(littleEndian: loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
            return UInt64(low) | UInt64(high) &<< UInt64(truncatingIfNeeded: 8 &* (count &- 4))
        }
        let middle = count &>> 1
        let last = count &- 1
        return UInt64(load(as: UInt8.self))
            | UInt64(load(fromByteOffset: middle, as: UInt8.self)) &<< UInt64(truncatingIfNeeded: 8 &* middle)
            | UInt64(load(fromByteOffset: last, as: UInt8.self)) &<< UInt64(truncatingIfNeeded: 8 &* last)
    }
}
