import Foundation

/// A CBOR value of any kind, as far as Codable can tell them apart. Written as literals, as in RFC 8949.
enum CBORDiagnostic: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    /// Beyond 64 bits.
    case wide(Decimal)
    case float(Double)
    case bytes(Data)
    case text(String)
    case list([CBORDiagnostic])
    case names([String: CBORDiagnostic])
    case numbers([Int: CBORDiagnostic])

    static func == (left: CBORDiagnostic, right: CBORDiagnostic) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.wide(let left), .wide(let right)): left == right
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        case (.bytes(let left), .bytes(let right)): left == right
        case (.text(let left), .text(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.names(let left), .names(let right)): left == right
        case (.numbers(let left), .numbers(let right)): left == right
        default: false
        }
    }
}

extension CBORDiagnostic: Codable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int?

        init(stringValue: String) { self.stringValue = stringValue }
        init(intValue: Int) {
            stringValue = "\(intValue)"
            self.intValue = intValue
        }
    }

    init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self = .null
        } else if let value = try? single.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? single.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? single.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? single.decode(Decimal.self), !value.isNaN {
            self = .wide(value)
        } else if let value = try? single.decode(Double.self) {
            self = .float(value)
        } else if let value = try? single.decode(Data.self) {
            self = .bytes(value)
        } else if let value = try? single.decode(String.self) {
            self = .text(value)
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [CBORDiagnostic] = []
            while !list.isAtEnd { elements.append(try list.decode(CBORDiagnostic.self)) }
            self = .list(elements)
        } else {
            let map = try decoder.container(keyedBy: Name.self)
            let pairs = try map.allKeys.map { ($0, try map.decode(CBORDiagnostic.self, forKey: $0)) }
            let numbers = pairs.compactMap { key, value in key.intValue.map { ($0, value) } }
            self =
                numbers.isEmpty
                ? .names(Dictionary(uniqueKeysWithValues: pairs.map { ($0.stringValue, $1) }))
                : .numbers(Dictionary(uniqueKeysWithValues: numbers))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .null: try single.encodeNil()
        case .bool(let value): try single.encode(value)
        case .integer(let value): try single.encode(value)
        case .unsigned(let value): try single.encode(value)
        case .wide(let value):
            guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { throw CancellationError() }
            try single.encode(Int128(value.description))
        case .float(let value): try single.encode(value)
        case .bytes(let value): try single.encode(value)
        case .text(let value): try single.encode(value)
        case .list(let value): try single.encode(value)
        case .names(let value): try single.encode(value)
        case .numbers(let value): try single.encode(value)
        }
    }
}

extension CBORDiagnostic: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(nilLiteral: ()) { self = .null }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(floatLiteral value: Double) { self = .float(value) }
    init(stringLiteral value: String) { self = .text(value) }
    init(arrayLiteral elements: CBORDiagnostic...) { self = .list(elements) }
    init(dictionaryLiteral pairs: (String, CBORDiagnostic)...) {
        self = .names(Dictionary(uniqueKeysWithValues: pairs))
    }
}

/// The bytes that a text of hexadecimal digits stands for; spaces are for reading.
func hexadecimal(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

extension [UInt8] {
    var hexadecimalText: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
