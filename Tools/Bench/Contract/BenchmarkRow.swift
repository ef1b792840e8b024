/// One row of a benchmark's table: named values in order. Names end with the unit, as in `encodeNanoseconds`.
public struct BenchmarkRow: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// A cell of the table, and its column.
    public struct Field: Sendable, Equatable {
        /// The column's name, with the unit at its end.
        public let name: String
        /// The value that was measured.
        public let value: BenchmarkValue

        /// Creates a field from its column's name and its value.
        public init(name: String, value: BenchmarkValue) {
            self.name = name
            self.value = value
        }
    }

    /// The row's fields in the order of the columns.
    public let fields: [Field]

    /// Creates a row from its fields.
    public init(fields: [Field]) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, BenchmarkValue)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The value with that name. O(fields).
    public subscript(name: String) -> BenchmarkValue? {
        fields.first { $0.name == name }?.value
    }
}

/// A value in a benchmark's table.
public enum BenchmarkValue: Sendable, Equatable {
    /// A value that is text.
    case text(String)
    /// A value that is a whole number.
    case integer(Int)
    /// A value that is a number with a fraction.
    case number(Double)
    /// Boolean values by name. A name is, for example, the ID of a payload limit.
    case flags([String: Bool])
    /// Whole numbers by name. A name is, for example, the ID of a payload limit.
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
