import MeshWire

// Two representations of numbers with a fraction:
//   decimals        whole numbers over a power of ten, if that is exact to the bit, as it is for decimals from a sensor or a
//                   file (an observation of ALP: Afroozeh, Kuffó and Boncz, 2023)
//   differing bits  the exclusive or with the number before (Gorilla: Pelkonen et al., 2015), of which only a window between
//                   its leading and trailing zeros is written. The bit 0 stands for no difference, the bits 1 0 for the same
//                   window as before, and 1 1 for a new one: 5 bits for its leading zeros, 6 bits for its length less 1.

/// Numbers with a fraction, as decimals or as differing bits.
enum FloatColumn {
    /// Powers of ten that a `Double` holds exactly.
    private static let powers: [Double] = (0...15).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }

    // MARK: - Decimals

    /// Returns the numbers times the smallest power of ten that makes all of them whole, if dividing by it restores each to
    /// the bit; nil if there is no such power.
    static func decimals(_ bits: [UInt64]) -> (exponent: Int, values: [Int64])? {
        var exponent = 0
        for bits in bits {
            while whole(bits, exponent) == nil {
                exponent += 1
                guard exponent < powers.count else { return nil }
            }
        }
        var values: [Int64] = []
        values.reserveCapacity(bits.count)
        for bits in bits {
            guard let value = whole(bits, exponent) else { return nil }
            values.append(value)
        }
        return (exponent, values)
    }

    private static func whole(_ bits: UInt64, _ exponent: Int) -> Int64? {
        let scaled = (Double(bitPattern: bits) * powers[exponent]).rounded()
        // From 2^53 on, some whole numbers have no `Double`. The guard also rejects NaN and infinity.
        guard abs(scaled) < 0x1p53 else { return nil }
        let value = Int64(scaled)
        return number(value, exponent) == bits ? value : nil
    }

    private static func number(_ value: Int64, _ exponent: Int) -> UInt64 {
        (Double(value) / powers[exponent]).bitPattern
    }

    /// - Throws: `WireError.Code.corrupted` for an exponent above 15.
    static func numbers(_ values: [Int64], exponent: UInt8) throws(WireError) -> [UInt64] {
        guard exponent < powers.count else { throw WireError(.corrupted, "a column times ten to the \(exponent)") }
        return values.map { number($0, Int(exponent)) }
    }

    // MARK: - Differences

    /// Indicates whether a `Float` represents each number exactly.
    static func areSingle(_ bits: [UInt64]) -> Bool {
        bits.allSatisfy { bits in
            let value = Double(bitPattern: bits)
            return Double(Float(value)).bitPattern == bits
        }
    }

    /// Returns the bits of the number as a `Float`, in the upper half.
    static func single(_ bits: UInt64) -> UInt64 { UInt64(Float(Double(bitPattern: bits)).bitPattern) << 32 }
    static func double(_ single: UInt64) -> UInt64 {
        Double(Float(bitPattern: UInt32(truncatingIfNeeded: single >> 32))).bitPattern
    }

    static func write(_ words: [UInt64], into writer: inout WireWriter) {
        var bits = BitWriter()
        var previous: UInt64 = 0
        var window = (leading: 64, trailing: 64)
        for word in words {
            let change = word ^ previous
            previous = word
            guard change != 0 else {
                bits.write(0, 1)
                continue
            }
            let leading = min(31, change.leadingZeroBitCount)
            let trailing = change.trailingZeroBitCount
            if leading >= window.leading, trailing >= window.trailing {
                bits.write(0b01, 2)
            } else {
                window = (leading, trailing)
                bits.write(0b11, 2)
                bits.write(UInt64(leading), 5)
                bits.write(UInt64(64 - leading - trailing - 1), 6)
            }
            let count = 64 - window.leading - window.trailing
            let part = change >> UInt64(window.trailing)
            bits.write(part & 0xFFFF_FFFF, min(count, 32))
            if count > 32 { bits.write(part >> 32, count - 32) }
        }
        writer.writeRaw(bits.finished())
    }

    static func read(_ count: Int, from reader: inout WireReader) throws(WireError) -> [UInt64] {
        var ahead = reader
        var bits = BitReader(try ahead.readRaw(ahead.remaining))
        var words: [UInt64] = []
        words.reserveCapacity(count)
        var previous: UInt64 = 0
        var window: (leading: Int, count: Int)?
        for _ in 0..<count {
            if try bits.read(1) == 1 {
                if try bits.read(1) == 1 {
                    window = (Int(try bits.read(5)), Int(try bits.read(6)) + 1)
                }
                guard let window, window.leading + window.count <= 64 else {
                    throw WireError(.corrupted, "a column of numbers of more than 64 bits")
                }
                var part = try bits.read(min(window.count, 32))
                if window.count > 32 { part |= try bits.read(window.count - 32) << 32 }
                previous ^= part << UInt64(64 - window.leading - window.count)
            }
            words.append(previous)
        }
        _ = try reader.readRaw(bits.byteCount)
        return words
    }
}
