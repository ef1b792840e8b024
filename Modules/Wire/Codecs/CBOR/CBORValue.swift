/// A data item of CBOR. Source: RFC 8949.
enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// −1 − n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([CBORPair])
    indirect case tagged(UInt64, CBORValue)
    case simple(UInt8)
    case float(Double)

    static let `false` = CBORValue.simple(20)
    static let `true` = CBORValue.simple(21)
    static let null = CBORValue.simple(22)
    static let undefined = CBORValue.simple(23)
}

struct CBORPair: Hashable, Sendable {
    let key: CBORValue
    let value: CBORValue
}

/// Tags that this codec writes. Source: RFC 8949 section 3.4 and the IANA registry.
enum CBORTag {
    static let positiveBignum: UInt64 = 2
    static let negativeBignum: UInt64 = 3
    static let uuid: UInt64 = 37
}

enum CBORMajor: UInt8 {
    case unsigned, negative, bytes, text, array, map, tag, simple
}

// MARK: - Writing

extension CBORValue {
    /// Writes the item in the deterministic form of section 4.2: shortest heads and floats, definite lengths, keys of
    /// maps in the order of their bytes.
    func write(to writer: inout WireWriter) {
        switch self {
        case .unsigned(let number): Self.writeHead(.unsigned, number, to: &writer)
        case .negative(let number): Self.writeHead(.negative, number, to: &writer)
        case .bytes(let bytes):
            Self.writeHead(.bytes, UInt64(bytes.count), to: &writer)
            writer.writeRaw(bytes)
        case .text(let text):
            Self.writeHead(.text, UInt64(text.utf8.count), to: &writer)
            writer.writeRaw(Array(text.utf8))
        case .array(let items):
            Self.writeHead(.array, UInt64(items.count), to: &writer)
            for item in items { item.write(to: &writer) }
        case .map(let pairs):
            Self.writeHead(.map, UInt64(pairs.count), to: &writer)
            let sorted = pairs.map { (key: $0.key.encoded(), value: $0.value) }
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            for (key, value) in sorted {
                writer.writeRaw(key)
                value.write(to: &writer)
            }
        case .tagged(let tag, let item):
            Self.writeHead(.tag, tag, to: &writer)
            item.write(to: &writer)
        case .simple(let number): Self.writeHead(.simple, UInt64(number), to: &writer)
        case .float(let number): Self.writeFloat(number, to: &writer)
        }
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
        write(to: &writer)
        return writer.array()
    }

    private static func writeHead(_ major: CBORMajor, _ number: UInt64, to writer: inout WireWriter) {
        let high = major.rawValue << 5
        switch number {
        case 0..<24: writer.write(high | UInt8(number))
        case ...0xff:
            writer.write(high | 24)
            writer.write(UInt8(number))
        case ...0xffff:
            writer.write(high | 25)
            writer.write(UInt16(number).byteSwapped)
        case ...0xffff_ffff:
            writer.write(high | 26)
            writer.write(UInt32(number).byteSwapped)
        default:
            writer.write(high | 27)
            writer.write(number.byteSwapped)
        }
    }

    /// The shortest of half, single and double precision that keeps the value.
    private static func writeFloat(_ number: Double, to writer: inout WireWriter) {
        let high = CBORMajor.simple.rawValue << 5
        if number.isNaN {
            writer.write(high | 25)
            writer.write((0x7e00 as UInt16).byteSwapped)
        } else if let half = HalfPrecision.bits(of: number) {
            writer.write(high | 25)
            writer.write(half.byteSwapped)
        } else if Double(Float(number)) == number {
            writer.write(high | 26)
            writer.write(Float(number).bitPattern.byteSwapped)
        } else {
            writer.write(high | 27)
            writer.write(number.bitPattern.byteSwapped)
        }
    }
}

/// IEEE 754 binary16, which has no type on every system. Source: RFC 8949 appendix D.
enum HalfPrecision {
    static func value(of bits: UInt16) -> Double {
        let exponent = Int(bits >> 10 & 0x1f)
        let fraction = Double(bits & 0x3ff)
        let magnitude: Double =
            switch exponent {
            case 0: Double(sign: .plus, exponent: -24, significand: fraction)
            case 31: fraction == 0 ? .infinity : .nan
            default: Double(sign: .plus, exponent: exponent - 25, significand: fraction + 1024)
            }
        return bits >> 15 == 0 ? magnitude : -magnitude
    }

    /// Nil when the value needs more precision.
    static func bits(of number: Double) -> UInt16? {
        let sign: UInt16 = number.sign == .minus ? 0x8000 : 0
        let magnitude = number.magnitude
        if magnitude == 0 { return sign }
        if magnitude == .infinity { return sign | 0x7c00 }
        guard magnitude <= 65_504, magnitude >= 0x1p-24 else { return nil }
        let exponent = max(Int(magnitude.exponent), -14)
        let scaled = Double(sign: .plus, exponent: 10 - exponent, significand: magnitude)
        guard scaled == scaled.rounded(), scaled < 2048 else { return nil }
        let fraction = UInt16(scaled)
        return sign | (fraction < 1024 ? fraction : UInt16(exponent + 15) << 10 | (fraction - 1024))
    }
}
