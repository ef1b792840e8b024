import Foundation
import MeshIdentity

extension CodecConformance {
    /// Rules about values, which must survive a round trip.
    static let valueRules: [ConformanceRule<CodecBench>] = [
        ConformanceRule("codec.id", "The codec has a name, and a number other than 0") { bench in
            try require(bench.codec.id.number != 0, "number 0 stands for no codec")
            try require(!bench.codec.id.name.isEmpty, "the name is empty")
        },
        ConformanceRule("codec.values.samples", "The sample payloads survive with any seed") { bench in
            for seed in 0..<5 as Range<UInt64> {
                try bench.requireSurvives(SamplePayloads.event(seed: seed))
                try bench.requireSurvives(SamplePayloads.metrics(seed: seed))
                try bench.requireSurvives(SamplePayloads.workout(seed: seed))
                try bench.requireSurvives(SamplePayloads.record(seed: seed))
                try bench.requireSurvives(SamplePayloads.document(seed: seed))
            }
            try bench.requireSurvives(SamplePayloads.track(count: 50))
        },
        ConformanceRule("codec.values.integers", "The smallest and largest integers of every width survive") { bench in
            try bench.requireSurvives(IntegerEnds())
        },
        ConformanceRule("codec.values.floats", "Floating-point numbers survive to the last bit") { bench in
            for value in floatEnds {
                let travelled = try bench.travelled([value])
                try requireEqual(travelled.map(\.bitPattern), [value.bitPattern], "the bits of \(value)")
            }
            try bench.requireSurvives([Float.leastNonzeroMagnitude, .greatestFiniteMagnitude, -0.1])
        },
        ConformanceRule("codec.values.dates", "Dates survive to the last bit") { bench in
            let dates = [0, 0.1, -63_114_076_800, 785_412_345.678912, 1e11].map(
                Date.init(timeIntervalSinceReferenceDate:))
            try bench.requireSurvives(dates)
        },
        ConformanceRule("codec.values.text", "Text survives: empty, long, of every plane, with NUL") { bench in
            try bench.requireSurvives(["", "a", "Grüße", "日本語", "👩‍👩‍👧", "a\u{0}b", "\u{10FFFF}", "e\u{301}"])
            try bench.requireSurvives(String(repeating: "long ", count: 10_000))
            let spellings = try bench.travelled(["\u{E9}", "e\u{301}"])
            try require(!spellings[0].utf8.elementsEqual(spellings[1].utf8), "two spellings of é became one")
        },
        ConformanceRule("codec.values.foundation", "Data, UUID, URL and Decimal survive") { bench in
            try bench.requireSurvives([Data(), Data([0]), Data(0...255)])
            try bench.requireSurvives([UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))])
            try bench.requireSurvives([URL(string: "https://example.org/a?b=c#d")])
            try bench.requireSurvives([Decimal(string: "-12345678901234567890.123456789"), 0])
        },
        ConformanceRule("codec.values.optionals", "nil, absent values and empty values are distinguished") { bench in
            try bench.requireSurvives([1, nil, 3])
            try bench.requireSurvives([String?](repeating: nil, count: 5))
            try bench.requireSurvives(["a": 1, "b": nil])
            try bench.requireSurvives(Optionals(some: 1, none: nil, list: [], text: ""))
        },
        ConformanceRule("codec.values.collections", "Arrays, sets and dictionaries survive, empty or nested") { bench in
            try bench.requireSurvives([[Int]]())
            try bench.requireSurvives([[], [1], [[2, 3], []].flatMap { $0 }])
            try bench.requireSurvives(Set(0..<50))
            try bench.requireSurvives(["": [String: [Bool]](), "x": ["y": [true, false]]])
            try bench.requireSurvives([1: "one", -2: "minus two"])
            try bench.requireSurvives([Shape.point: 1, .circle(radius: 2): 2])
        },
        ConformanceRule("codec.values.enums", "Enums survive, with and without associated values") { bench in
            try bench.requireSurvives([Shape.point, .circle(radius: 1.5), .polygon([.point, .circle(radius: 0)])])
        },
        ConformanceRule("codec.values.top-level", "A top-level value needn't be a structure") { bench in
            try bench.requireSurvives(42)
            try bench.requireSurvives("text")
            try bench.requireSurvives(true)
            try bench.requireSurvives([Int]())
        },
        ConformanceRule("codec.values.inheritance", "A superclass can be encoded with superEncoder") { bench in
            let travelled = try bench.travelled(Dog(legs: 4, name: "Rex"))
            try requireEqual("\(travelled.name) \(travelled.legs)", "Rex 4", "the dog")
        },
        ConformanceRule("codec.values.own-error", "An error of a type's own encode method is rethrown") { bench in
            do {
                _ = try bench.codec.encode([Refusing()])
            } catch {
                return
            }
            throw ConformanceFailure("nothing was thrown")
        },
    ]

    private static let floatEnds: [Double] = [
        0, -0.0, 1, -1, 0.1, .pi, .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, .ulpOfOne,
        .infinity, -.infinity, 1e300, 123_456_789.123_456_78,
    ]
}

// MARK: - Values

private struct IntegerEnds: Codable, Equatable {
    var i8 = [Int8.min, -1, 0, .max]
    var i16 = [Int16.min, -1, 0, .max]
    var i32 = [Int32.min, -1, 0, .max]
    var i64 = [Int64.min, -1, 0, .max]
    var i = [Int.min, -1, 0, .max]
    var u8 = [UInt8.min, .max]
    var u16 = [UInt16.min, .max]
    var u32 = [UInt32.min, .max]
    var u64 = [UInt64.min, .max]
    var one: Int8 = -128
    var other = UInt64.max
}

private struct Optionals: Codable, Equatable {
    var some: Int?
    var none: Int?
    var list: [Int]?
    var text: String?
}

private indirect enum Shape: Codable, Hashable {
    case point
    case circle(radius: Double)
    case polygon([Shape])
}

private class Animal: Codable {
    var legs: Int

    init(legs: Int) { self.legs = legs }
}

private final class Dog: Animal {
    var name: String

    private enum CodingKeys: String, CodingKey { case name }

    init(legs: Int, name: String) {
        self.name = name
        super.init(legs: legs)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try super.encode(to: container.superEncoder())
    }
}

private struct Refusing: Codable {
    struct Refusal: Error {}

    func encode(to encoder: any Encoder) throws { throw Refusal() }
}
