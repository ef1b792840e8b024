import Foundation
import MeshIdentity
import MeshTesting
import MeshWire
import Testing

/// A value whose bytes in every codec are committed under Tests/Fixtures/Payloads.
struct GoldenPayload: Sendable, CustomTestStringConvertible {
    let name: String
    /// The contents of each file, and a check that given contents decode to the value.
    let files: @Sendable () throws -> [(suffix: String, bytes: [UInt8], isRead: ([UInt8]) throws -> Bool)]

    var testDescription: String { name }

    static let named = CompactCodec(mode: .deterministic, usesDirectPath: false)
    static let namedFirst = CompactCodec(mode: .deterministic, usesDirectPath: false, namesFirst: true)
    static let direct = CompactCodec(mode: .deterministic)

    init<Value: Codable & Equatable & Sendable>(_ name: String, _ value: Value) {
        self.name = name
        files = { try Self.files(value) }
    }

    /// - Parameter numbers: the numbers of the fields on the direct path, by field name.
    init<Value: WireValue & Codable & Equatable & Sendable>(
        _ name: String, _ value: Value, direct numbers: [String: Int]
    ) {
        self.name = name
        files = {
            let json = try JSONSerialization.jsonObject(with: Data(try JSONCodec().encode(value)))
            let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
            let numbered = try JSONSerialization.data(withJSONObject: Self.rename(json, numbers), options: options)
            return try Self.files(value) + [
                (
                    ".direct.compact", Self.direct.encode(value),
                    { try Self.direct.decode(Value.self, from: $0) == value }
                ),
                (".direct.json", Array(numbered), { _ in true }),
            ]
        }
    }

    private static func files<Value: Codable & Equatable>(
        _ value: Value
    ) throws -> [(suffix: String, bytes: [UInt8], isRead: ([UInt8]) throws -> Bool)] {
        func reading(_ codec: any PayloadCodec) -> ([UInt8]) throws -> Bool {
            { try codec.decode(Value.self, from: $0) == value }
        }
        return try [
            (".json", JSONCodec().encode(value), reading(JSONCodec())),
            (".compact", named.encode(value), reading(named)),
            (".first.compact", namedFirst.encode(value), reading(named)),
        ]
    }

    private static func rename(_ json: Any, _ numbers: [String: Int]) -> Any {
        if let list = json as? [Any] { return list.map { rename($0, numbers) } }
        guard let fields = json as? [String: Any] else { return json }
        return Dictionary(
            uniqueKeysWithValues: fields.map { (numbers[$0].map { "\($0)" } ?? $0, rename($1, numbers)) })
    }
}

// MARK: - Values

extension GoldenPayload {
    static let all: [GoldenPayload] =
        [
            GoldenPayload("scalars", GoldenScalars(), direct: GoldenScalars.WireKeys.numbers),
            GoldenPayload("foundation", GoldenFoundation()),
            GoldenPayload("integers", GoldenIntegers(), direct: GoldenIntegers.WireKeys.numbers),
            GoldenPayload("blocks", GoldenBlocks(), direct: GoldenBlocks.WireKeys.numbers),
            GoldenPayload("optionals", GoldenOptionals(), direct: GoldenOptionals.WireKeys.numbers),
            GoldenPayload("records", [GoldenRecord](repeating: GoldenRecord(), count: 3), direct: GoldenRecord.numbers),
            GoldenPayload("lists", [[1, -1, 1 << 40], [], [63, 64, -65]] as [[Int]], direct: [:]),
            GoldenPayload("strings", ["", "ab", "abc", "Grüße", "abc", "日本語", "Grüße", "\u{10FFFF}"], direct: [:]),
            GoldenPayload(
                "dictionary-names", ["b": [1.5], "a": [], "aa": [2.5, -0.5]] as [String: [Double]], direct: [:]),
            GoldenPayload("dictionary-integers", [1: "one", 30: "some", -1000: "none"] as [Int: String], direct: [:]),
            GoldenPayload("dictionary-pairs", [-2.5: "b"] as [Double: String], direct: [:]),
            GoldenPayload("cases", [Shape.circle(radius: 2.5), .pair(1, "x"), .empty]),
            GoldenPayload("containers", GoldenContainers()),
            GoldenPayload("raw-values", [Color.green, .red]),
            GoldenPayload("empty", Empty()),
            GoldenPayload(
                "event", SamplePayloads.event(), direct: ["pause": 1, "resume": 2, "lap": 3, "at": 1, "index": 2]),
            GoldenPayload("metrics", SamplePayloads.metrics()),
            GoldenPayload("track", SamplePayloads.track(count: 5)),
            GoldenPayload("record", SamplePayloads.record()),
            GoldenPayload("document", SamplePayloads.document()),
        ] + wideIntegers

    private static var wideIntegers: [GoldenPayload] {
        guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { return [] }
        return [
            GoldenPayload("integers-signed", [Int128.min, Int128(Int64.min) - 1, -1, Int128(UInt64.max) + 1, .max]),
            GoldenPayload("integers-unsigned", [UInt128(0), UInt128(UInt64.max) + 1, 1 << 127, .max]),
        ]
    }
}

extension CodingKey where Self: CaseIterable & RawRepresentable<Int> {
    fileprivate static var numbers: [String: Int] {
        Dictionary(uniqueKeysWithValues: allCases.map { ($0.stringValue, $0.rawValue) })
    }
}
