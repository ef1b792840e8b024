import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Types whose Codable form the codec writes and reads itself. It writes the bytes that their own coding would, and reads
/// any other bytes as that coding would.
@Suite struct CompactFormTests {
    private let codec = CompactCodec(mode: .deterministic, usesDirectPath: false)

    // MARK: - Decimals

    /// The fields that Foundation encodes for a decimal, under the same names.
    private struct Spelled: Codable {
        var exponent: Int32
        var length: UInt32 = 1
        var isNegative = false
        var isCompact = true
        var mantissa: [Digit]

        init(exponent: Int32 = -2, digits: [Int] = [1250, 0, 0, 0, 0, 0, 0, 0]) {
            self.exponent = exponent
            mantissa = digits.map(Digit.init)
        }
    }

    /// A digit that is written as an integer, in a list that isn't a block.
    private struct Digit: Codable {
        var value: Int

        init(_ value: Int) { self.value = value }
        init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    private let price = Decimal(string: "12.5") ?? 0

    /// A wrapper that uses the type's own coding.
    private struct Own<Value: Codable & Equatable>: Codable, Equatable {
        var value: Value

        init(_ value: Value) { self.value = value }
        init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    @Test func `Decimals and URLs are written and read as their own coding does`() throws {
        func requireSame<Value: Codable & Equatable>(_ values: [Value]) throws {
            let bytes = try codec.encode(values)
            #expect(try bytes == codec.encode(values.map(Own.init)), "\(values)")
            #expect(try codec.decode([Own<Value>].self, from: bytes) == values.map(Own.init), "\(values)")
            #expect(try codec.decode([Value].self, from: bytes) == values, "\(values)")
        }
        let texts = ["0", "1", "-1", "12.50", "-0.00000000000000000001", "99999999999999999999999999999999999999"]
        try requireSame(texts.compactMap { Decimal(string: $0) } + [.greatestFiniteMagnitude, price * 3 - 40])
        try requireSame([URL(string: "https://example.org/a?b#c"), URL(string: "x")].compactMap { $0 })
        try requireSame([URL(string: "sub", relativeTo: URL(string: "https://example.org/base/"))].compactMap { $0 })
        #expect(try codec.decode(Decimal.self, from: codec.encode(Spelled())) == price)
        #expect(try codec.decode(Decimal.self, from: codec.encode(Decimal.nan)).isNaN)
    }

    @Test func `A decimal is read whatever the order of its parts, and from a block`() throws {
        struct Backwards: Codable {
            var mantissa: [UInt16] = [1250, 0, 0, 0, 0, 0, 0, 0]
            var later = "of a newer version"
            var isCompact = true
            var isNegative = true
            var length = 1
            var exponent = -2
        }
        #expect(try codec.decode(Decimal.self, from: codec.encode(Backwards())) == -price)
        #expect(try codec.decode([Decimal].self, from: codec.encode([Backwards(), Backwards()])) == [-price, -price])
    }

    @Test func `Bytes that aren't a decimal are typed errors, and digits beyond eight are left out`() throws {
        struct Short: Codable { var exponent = 1 }
        let more = Spelled(digits: [1250, 0, 0, 0, 0, 0, 0, 0, 7])
        #expect(try codec.decode([Decimal].self, from: codec.encode([more, more])) == [price, price])
        expect(.missingField) { _ = try codec.decode(Decimal.self, from: codec.encode(Short())) }
        expect(.typeMismatch) { _ = try codec.decode(Decimal.self, from: codec.encode("12.5")) }
        expect(.truncated) { _ = try codec.decode(Decimal.self, from: codec.encode(Spelled(digits: [1, 2]))) }
        for digit in [-1, 65_536] {
            let wrong = Spelled(digits: [digit, 0, 0, 0, 0, 0, 0, 0])
            expect(.invalidValue) { _ = try codec.decode(Decimal.self, from: codec.encode(wrong)) }
        }
    }

    @Test func `A decimal counts as two levels`() throws {
        try requireLevels(2, price)
    }

    @Test func `A type that opens its containers itself is read at as many levels as it is written`() throws {
        struct Sparse: Codable, Equatable {
            enum Keys: CodingKey { case inner, later }
            enum InnerKeys: CodingKey { case value }
            var value = 7

            init() {}

            func encode(to encoder: any Encoder) throws {
                var outer = encoder.container(keyedBy: Keys.self)
                var inner = outer.nestedContainer(keyedBy: InnerKeys.self, forKey: .inner)
                try inner.encode([value], forKey: .value)
                try outer.encode([[value]], forKey: .later)
            }

            /// Leaves the reader inside, before a field that isn't read.
            init(from decoder: any Decoder) throws {
                let outer = try decoder.container(keyedBy: Keys.self)
                let inner = try outer.nestedContainer(keyedBy: InnerKeys.self, forKey: .inner)
                value = try inner.decode([Int].self, forKey: .value)[0]
            }
        }
        try requireLevels(2, Sparse())
    }

    private func requireLevels(_ levels: Int, _ value: some Codable & Equatable) throws {
        let bytes = try codec.encode(value)
        for depth in 1..<levels {
            let shallow = CompactCodec(depthMax: depth)
            expect(.tooDeep) { _ = try shallow.encode(value) }
            expect(.tooDeep) { _ = try shallow.decode(type(of: value), from: bytes) }
        }
        let exact = CompactCodec(depthMax: levels)
        #expect(try exact.decode(type(of: value), from: exact.encode(value)) == value)
    }

    // MARK: - Dictionaries

    @Test func `Dictionaries with text for keys survive in either mode`() throws {
        for codec in [codec, CompactCodec()] {
            for count in [0, 1, 5, 300] {
                let names = (0..<count).map { "key \($0)" }
                func requireSurvives<Value: Codable & Equatable>(_ value: (Int) -> Value) throws {
                    let all = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, value($0)) })
                    #expect(try codec.decode([String: Value].self, from: codec.encode(all)) == all)
                    #expect(try codec.decode([[String: Value]].self, from: codec.encode([all, all])) == [all, all])
                }
                try requireSurvives { "value \($0 % 7)" }
                try requireSurvives { $0 }
                try requireSurvives { Double($0) }
                try requireSurvives { $0 % 2 == 0 }
                try requireSurvives { Decimal($0) }
                try requireSurvives { $0 % 2 == 0 ? Decimal($0) : nil }
                try requireSurvives { ["inner": Leaf(number: $0)] }
            }
        }
    }

    @Test func `A dictionary names the entry that it cannot read`() throws {
        let bytes = try codec.encode(["good": "1", "wrong": "2"])
        let error = #expect(throws: WireError.self) { _ = try codec.decode([String: Leaf].self, from: bytes) }
        #expect(error?.path == ["good"])
    }

    // MARK: - Names that are known from earlier messages

    private struct Person: Codable, Equatable {
        var name = "a"
        var age: Int? = 3
    }
    private struct Turned: Codable {
        var age = 3
        var name = "a"
    }

    @Test func `A message doesn't depend on the messages before it`() throws {
        let first = try codec.encode(Person())
        // More messages than a table of texts can number.
        for _ in 0..<70_000 where try codec.encode(Person()) != first { Issue.record("the bytes changed") }
        for _ in 0..<3 {
            #expect(try codec.decode(Person.self, from: first) == Person())
            #expect(try codec.decode(Person.self, from: codec.encode(Turned())) == Person())
            #expect(try codec.decode([Person].self, from: codec.encode([Turned(), Turned()])) == [Person(), Person()])
        }
        struct Wrong: Codable { var nam = "a" }
        expect(.missingField) { _ = try codec.decode(Person.self, from: codec.encode(Wrong())) }
        for length in 0..<first.count {
            #expect(throws: (any Error).self) { try codec.decode(Person.self, from: Array(first[..<length])) }
        }
    }

    @Test func `Long names and many keys are written and read again`() throws {
        struct Long: Codable, Equatable {
            var aNameOfMoreThanThirtyTwoBytesThatIsNotKept = 1
            var name = "x"

            enum CodingKeys: String, CodingKey {
                case aNameOfMoreThanThirtyTwoBytesThatIsNotKept
                case name = "名前"
            }
        }
        for _ in 0..<3 {
            #expect(try codec.decode([Long].self, from: codec.encode([Long(), Long()])) == [Long(), Long()])
        }
    }
}
