import Foundation

/// Calls that an `encode(to:)` may make on an encoder, as a value: tests run over all small programs.
struct CodableProgram: Encodable, Sendable, CustomStringConvertible {
    indirect enum Call: Sendable {
        case keyed([Field])
        case list([Element])
        case single(Item)
    }

    indirect enum Field: Sendable {
        case value(String, Item)
        case absent(String)
        case null(String)
        case keyed(String, [Field])
        case list(String, [Element])
        case superValue(String?, [Call])
        /// Encodes a value that throws after its first field, and catches the error.
        case failing(String)
    }

    indirect enum Element: Sendable {
        case value(Item)
        case null
        case keyed([Field])
        case list([Element])
        case superValue([Call])
        case failing
    }

    indirect enum Item: Sendable {
        case number(Int)
        case numbers([Int])
        case record([String: Int])
        case program(CodableProgram)
        case optional(CodableProgram)
    }

    let calls: [Call]

    func encode(to encoder: any Encoder) throws { try Self.run(calls, on: encoder) }

    var description: String { "\(calls)".replacingOccurrences(of: "WireTests.CodableProgram.", with: "") }

    private static func run(_ calls: [Call], on encoder: any Encoder) throws {
        for call in calls {
            switch call {
            case .keyed(let fields):
                var container = encoder.container(keyedBy: AnyName.self)
                try run(fields, in: &container)
            case .list(let elements):
                var container = encoder.unkeyedContainer()
                try run(elements, in: &container)
            case .single(let item):
                var container = encoder.singleValueContainer()
                try item.visit { try container.encode($0) }
            }
        }
    }

    private static func run(_ fields: [Field], in container: inout KeyedEncodingContainer<AnyName>) throws {
        for field in fields {
            switch field {
            case .value(let name, .optional(let program)):
                try container.encodeIfPresent(program, forKey: AnyName(name))
            case .value(let name, let item): try item.visit { try container.encode($0, forKey: AnyName(name)) }
            case .absent(let name): try container.encodeIfPresent(Int?.none, forKey: AnyName(name))
            case .null(let name): try container.encodeNil(forKey: AnyName(name))
            case .keyed(let name, let fields):
                var nested = container.nestedContainer(keyedBy: AnyName.self, forKey: AnyName(name))
                try run(fields, in: &nested)
            case .list(let name, let elements):
                var nested = container.nestedUnkeyedContainer(forKey: AnyName(name))
                try run(elements, in: &nested)
            case .superValue(let name, let calls):
                // A separate function, because JSONEncoder adds the value when the encoder is deallocated.
                try run(calls, on: name.map { container.superEncoder(forKey: AnyName($0)) } ?? container.superEncoder())
            case .failing(let name): try? container.encode(Failing(), forKey: AnyName(name))
            }
        }
    }

    private static func run(_ elements: [Element], in container: inout any UnkeyedEncodingContainer) throws {
        for element in elements {
            switch element {
            case .value(let item): try item.visit { try container.encode($0) }
            case .null: try container.encodeNil()
            case .keyed(let fields):
                var nested = container.nestedContainer(keyedBy: AnyName.self)
                try run(fields, in: &nested)
            case .list(let elements):
                var nested = container.nestedUnkeyedContainer()
                try run(elements, in: &nested)
            case .superValue(let calls): try run(calls, on: container.superEncoder())
            case .failing: try? container.encode(Failing())
            }
        }
    }

    private struct Failing: Encodable {
        struct Refusal: Error {}

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyName.self)
            try container.encode(1, forKey: AnyName("half"))
            throw Refusal()
        }
    }
}

extension CodableProgram.Item {
    fileprivate func visit(_ body: (any Encodable) throws -> Void) rethrows {
        switch self {
        case .number(let number): try body(number)
        case .numbers(let numbers): try body(numbers)
        case .record(let record): try body(record)
        case .program(let program): try body(program)
        case .optional(let program): try body(CodableProgram?.some(program))
        }
    }
}

struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Any message, read without knowing its type.
indirect enum AnyValue: Decodable, Equatable {
    case null
    case number(Int)
    case list([AnyValue])
    case record([String: AnyValue])

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: AnyName.self) {
            let fields = try container.allKeys.map { ($0.stringValue, try container.decode(AnyValue.self, forKey: $0)) }
            self = .record(try Dictionary(fields) { _, _ in throw DecodingError.dataCorrupted(.twice(container)) })
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [AnyValue] = []
            while !container.isAtEnd { elements.append(try container.decode(AnyValue.self)) }
            self = .list(elements)
        } else {
            let container = try decoder.singleValueContainer()
            self = container.decodeNil() ? .null : .number(try container.decode(Int.self))
        }
    }
}

extension DecodingError.Context {
    fileprivate static func twice(_ container: KeyedDecodingContainer<AnyName>) -> Self {
        Self(codingPath: container.codingPath, debugDescription: "a key is there twice")
    }
}

// MARK: - All small programs

extension CodableProgram {
    /// All programs of one container with at most two fields or elements, and of two containers with at most one. In addition,
    /// a sample of these as a field, an element and a single value of another program.
    static let all: [CodableProgram] = {
        let (short, long) = (calls(2), calls(1))
        let programs = (short.map { [$0] } + pairs(long)).map(CodableProgram.init)
        let nested = programs.enumerated().filter { $0.offset % 13 == 0 }.map(\.element)
        let fields = nested.flatMap { program -> [Field] in
            [.superValue("a", program.calls), .value("a", .program(program)), .value("a", .optional(program))]
        }
        let elements = nested.flatMap { program -> [Element] in
            [.superValue(program.calls), .value(.program(program))]
        }
        let inside =
            fields.flatMap { deep in leafFields.flatMap { [[deep, $0], [$0, deep]] } }.map { Call.keyed($0) }
            + elements.flatMap { deep in leafElements.flatMap { [[deep, $0], [$0, deep]] } }.map { Call.list($0) }
        let singles = nested.flatMap { program in long.map { [Call.single(.program(program)), $0] } }
        return programs + inside.map { CodableProgram(calls: [$0]) } + singles.map(CodableProgram.init)
    }()

    static let leafElements: [Element] = [
        .value(.number(1)), .null, .list([.value(.number(2))]), .keyed([.value("a", .number(3))]),
        .superValue([.single(.number(4))]), .superValue([]),
    ]

    static let leafFields: [Field] =
        ["a", "b"].flatMap { name -> [Field] in
            [
                .value(name, .number(1)), .value(name, .numbers([2])), .value(name, .record(["b": 3])),
                .keyed(name, [.value("a", .number(4))]), .list(name, [.value(.number(5))]),
                .superValue(name, [.keyed([.value("c", .number(6))])]),
            ]
        } + [
            .absent("a"), .null("a"), .superValue("a", []), .superValue(nil, [.single(.number(7))]),
            .value("super", .number(8)),
        ]

    /// All calls with at most `count` fields or elements.
    private static func calls(_ count: Int) -> [Call] {
        let fields = [[]] + leafFields.map { [$0] } + (count > 1 ? pairs(leafFields) : [])
        let elements = [[]] + leafElements.map { [$0] } + (count > 1 ? pairs(leafElements) : [])
        return fields.map { .keyed($0) } + elements.map { .list($0) }
            + [.single(.number(9)), .single(.numbers([1])), .single(.record(["a": 1]))]
    }

    private static func pairs<Part>(_ parts: [Part]) -> [[Part]] {
        parts.flatMap { first in parts.map { [first, $0] } }
    }
}
