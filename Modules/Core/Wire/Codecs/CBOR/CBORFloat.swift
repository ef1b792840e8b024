/// Conversions between the three widths, on bit patterns: Swift has no 16-bit type on all platforms, and the processor's
/// conversions alter NaNs.
enum CBORFloat {
    /// The single-precision number that is the same; nil when there is none.
    @inline(__always)
    static func single(_ bits: UInt64) -> UInt32? {
        let value = Double(bitPattern: bits)
        if _fastPath(!value.isNaN) {
            let single = Float(value)
            return Double(single) == value ? single.bitPattern : nil
        }
        guard bits & 0x1fff_ffff == 0 else { return nil }
        let fraction = UInt32(truncatingIfNeeded: bits >> 29) & 0x7f_ffff
        return UInt32(truncatingIfNeeded: bits >> 63) << 31 | 0x7f80_0000 | fraction
    }

    /// The half-precision number that is the same; nil when there is none.
    static func half(_ bits: UInt32) -> UInt16? {
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let exponent = bits >> 23 & 0xff
        let fraction = bits & 0x7f_ffff
        let shifted = UInt16(truncatingIfNeeded: fraction >> 13)
        switch exponent {
        case 0: return fraction == 0 ? sign : nil
        case 103...112:
            // A subnormal half counts units of 2⁻²⁴.
            let significand = fraction | 0x80_0000
            let shift = 126 - exponent
            guard significand & (1 << shift - 1) == 0 else { return nil }
            return sign | UInt16(truncatingIfNeeded: significand >> shift)
        case 113...142:
            return fraction & 0x1fff == 0 ? sign | UInt16(truncatingIfNeeded: exponent - 112) << 10 | shifted : nil
        case 255: return fraction & 0x1fff == 0 ? sign | 0x7c00 | shifted : nil
        default: return nil
        }
    }

    static func double(half bits: UInt16) -> UInt64 {
        let sign = UInt64(bits & 0x8000) << 48
        let exponent = UInt64(bits >> 10 & 0x1f)
        let fraction = UInt64(bits & 0x3ff)
        switch exponent {
        case 0: return sign | (Double(fraction) * 0x1p-24).bitPattern
        case 31: return sign | 0x7ff << 52 | fraction << 42
        default: return sign | (exponent + 1008) << 52 | fraction << 42
        }
    }

    static func double(single bits: UInt32) -> UInt64 {
        let value = Float(bitPattern: bits)
        guard value.isNaN else { return Double(value).bitPattern }
        return UInt64(bits >> 31) << 63 | 0x7ff << 52 | UInt64(bits & 0x7f_ffff) << 29
    }
}
