/// One line of a benchmark's table: named values in order. Units end the names: `encodeNanoseconds`.
public struct BenchmarkRow: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: BenchmarkValue

        public init(name: String, value: BenchmarkValue) {
            self.name = name
            self.value = value
        }
    }

    public let fields: [Field]

    public init(fields: [Field]) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, BenchmarkValue)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The value of that name; O(fields).
    public subscript(name: String) -> BenchmarkValue? {
        fields.first { $0.name == name }?.value
    }
}

/// A value in a benchmark's table.
public enum BenchmarkValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    /// By name, such as the id of a payload limit.
    case flags([String: Bool])
    /// By name, such as the id of a payload limit.
    case integers([String: Int])
}

extension BenchmarkRow: Encodable {
    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: FieldName.self)
        for field in fields { try container.encode(field.value, forKey: FieldName(stringValue: field.name)) }
    }
}

extension BenchmarkValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .flags(let flags): try container.encode(flags)
        case .integers(let integers): try container.encode(integers)
        }
    }
}
