/// A small random number generator whose complete state is its seed, so that a run can be replayed from one number.
///
/// Not for secrets. Source: Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators* (2014), with the
/// constants of Vigna's public-domain splitmix64.c. Seeds are recorded, so a seed's numbers must never change. Derived
/// values are computed here, because the standard library's algorithms may change.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    @inlinable package init(seed: UInt64) { state = seed }

    @inlinable package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }

    /// Returns a number in 0..<1, in steps of 2^-53.
    @inlinable package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns a number in 0...`most`. The bias is less than (`most` + 1) / 2^64.
    @inlinable package mutating func upTo(_ most: UInt64) -> UInt64 {
        most == .max ? next() : next().multipliedFullWidth(by: most + 1).high
    }

    /// Returns true with the probability `rate`. Always draws one number, so the rate doesn't affect later results.
    @inlinable package mutating func happens(rate: Double) -> Bool { fraction() < rate }
}
