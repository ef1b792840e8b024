/// 128 bits of a state, two lanes of multiply and rotate. A search takes equal fingerprints for equal states: at 10⁷ states
/// the chance of one mistake is below 10⁻²⁴.
struct Fingerprint: Hashable {
    private(set) var low: UInt64 = 0x9e37_79b9_7f4a_7c15
    private(set) var high: UInt64 = 0xc2b2_ae3d_27d4_eb4f

    @inline(__always)
    mutating func mix(_ value: UInt64) {
        low = (low ^ value) &* 0xff51_afd7_ed55_8ccd
        low ^= low >> 32
        high = (high ^ (value &+ 0x1656_67b1_9e37_79f9)) &* 0xc4ce_b9fe_1a85_ec53
        high = (high << 29 | high >> 35) &+ low
    }

    @inline(__always)
    mutating func mix(_ value: Int) { mix(UInt64(bitPattern: Int64(value))) }
}
