import MeshWire

// The Rice code of a number with the parameter p is its quotient by 2^p in unary (that many zeros and a one), then its lowest p
// bits (Rice and Plaunt, 1971; as in FLAC, RFC 9639). Signed numbers are zigzag-encoded first: 0, -1, 1, -2 … to 0, 1, 2, 3 …
// Each group of 64 numbers begins with its parameter, in 6 bits.

/// Whole numbers that change little: the first number, then the others in the shortest representation (`Order`) as Rice codes.
enum IntegerColumn {
    /// The representation of each number after the first.
    enum Order: UInt8, CaseIterable {
        /// Stores no numbers, because all equal the first.
        case constant
        /// Differences from the first number.
        case distances
        case differences
        case secondDifferences
    }

    private static let groupCount = 64
    /// Special Rice parameters: `plain` for 64 bits per number, `zeros` for no bits because all numbers are 0.
    private static let plain: UInt64 = 62, zeros: UInt64 = 63
    /// A number with this quotient or a greater one is written as this many zero bits and its 64 bits.
    private static let quotientMax = 32

    // MARK: - Writing

    /// - Parameter values: not empty.
    static func order(for values: [Int64]) -> Order {
        guard values.contains(where: { $0 != values[0] }) else { return .constant }
        var costs = [0, 0, 0]
        var difference: Int64 = 0
        for index in 1..<values.count {
            let next = values[index] &- values[index - 1]
            costs[0] += bitWidth(values[index] &- values[0])
            costs[1] += bitWidth(next)
            costs[2] += bitWidth(next &- difference)
            difference = next
        }
        let best = costs.indices.min { costs[$0] < costs[$1] } ?? 0
        return [.distances, .differences, .secondDifferences][best]
    }

    private static func bitWidth(_ value: Int64) -> Int { 64 - zigzagEncoded(value).leadingZeroBitCount }
    private static func zigzagEncoded(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value &<< 1) ^ (value &>> 63)) }
    private static func zigzagDecoded(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    static func write(_ values: [Int64], _ order: Order, into writer: inout WireWriter) {
        writer.writeSignedVarint(values[0])
        guard order != .constant else { return }
        var rest: [UInt64] = []
        rest.reserveCapacity(values.count)
        var difference: Int64 = 0
        for index in 1..<max(1, values.count) {
            let next = values[index] &- values[index - 1]
            switch order {
            case .constant: break
            case .distances: rest.append(zigzagEncoded(values[index] &- values[0]))
            case .differences: rest.append(zigzagEncoded(next))
            case .secondDifferences:
                // Written as a varint: the first difference may be large, while the second differences are small.
                if index == 1 { writer.writeSignedVarint(next) } else { rest.append(zigzagEncoded(next &- difference)) }
            }
            difference = next
        }
        var bits = BitWriter()
        for start in stride(from: 0, to: rest.count, by: groupCount) {
            write(rest[start..<min(start + groupCount, rest.count)], into: &bits)
        }
        writer.writeRaw(bits.finished())
    }

    private static func write(_ group: ArraySlice<UInt64>, into bits: inout BitWriter) {
        let parameter = parameter(for: group)
        bits.write(parameter, 6)
        switch parameter {
        case zeros: break
        case plain: for value in group { bits.writeWord(value) }
        default:
            for value in group {
                let quotient = value >> parameter
                if quotient < UInt64(quotientMax) {
                    bits.write(1 << quotient, Int(quotient) + 1)
                    writeLow(value, Int(parameter), into: &bits)
                } else {
                    bits.write(0, quotientMax)
                    bits.writeWord(value)
                }
            }
        }
    }

    private static func writeLow(_ value: UInt64, _ count: Int, into bits: inout BitWriter) {
        let low = min(count, 32)
        bits.write(value & ((1 << UInt64(low)) - 1), low)
        if count > low { bits.write((value >> 32) & ((1 << UInt64(count - low)) - 1), count - low) }
    }

    private static func parameter(for group: ArraySlice<UInt64>) -> UInt64 {
        guard group.contains(where: { $0 != 0 }) else { return zeros }
        let mean = group.reduce(0.0) { $0 + Double($1) } / Double(group.count)
        let guess = mean < 1 ? 0 : min(55, Int(mean.exponent))
        var best = (cost: group.count * 64, parameter: plain)
        for parameter in UInt64(max(0, guess - 1))...UInt64(guess + 1) {
            let cost = group.reduce(0) { sum, value in
                let quotient = value >> parameter
                return sum
                    + (quotient < UInt64(quotientMax) ? Int(quotient) + 1 + Int(parameter) : quotientMax + 64)
            }
            if cost < best.cost { best = (cost, parameter) }
        }
        return best.parameter
    }

    // MARK: - Reading

    /// - Parameter count: at least one.
    static func read(_ count: Int, _ order: Order, from reader: inout WireReader) throws(WireError) -> [Int64] {
        let first = try reader.readSignedVarint()
        guard order != .constant else { return Array(repeating: first, count: count) }
        var values = [first]
        values.reserveCapacity(count)
        var difference: Int64 = 0
        if order == .secondDifferences, count > 1 {
            difference = try reader.readSignedVarint()
            values.append(first &+ difference)
        }
        // The bits have no length prefix, so a copy of the reader takes all bytes. The original then skips the used ones.
        var ahead = reader
        var bits = BitReader(try ahead.readRaw(ahead.remaining))
        while values.count < count {
            let groupEnd = values.count + min(groupCount, count - values.count)
            let parameter = try bits.read(6)
            while values.count < groupEnd {
                let rest = zigzagDecoded(try readRest(parameter, from: &bits))
                let previous = values[values.count - 1]
                switch order {
                case .constant, .distances: values.append(first &+ rest)
                case .differences: values.append(previous &+ rest)
                case .secondDifferences:
                    difference &+= rest
                    values.append(previous &+ difference)
                }
            }
        }
        _ = try reader.readRaw(bits.byteCount)
        return values
    }

    private static func readRest(_ parameter: UInt64, from bits: inout BitReader) throws(WireError) -> UInt64 {
        switch parameter {
        case zeros: return 0
        case plain: return try bits.readWord()
        default:
            guard let quotient = try bits.readUnary(max: quotientMax) else { return try bits.readWord() }
            let low = min(Int(parameter), 32)
            var value = try bits.read(low)
            if Int(parameter) > low { value |= try bits.read(Int(parameter) - low) << 32 }
            return UInt64(quotient) << parameter | value
        }
    }
}
