import Foundation
import Testing

@testable import MeshWire

/// The reader counts fields ahead to reserve capacity for a dictionary, and reads their names in one step.
@Suite struct DictionaryReadingTests {
    private let codec = CompactCodec()

    private func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try codec.decode(type, from: $0) }
    }

    @Test func `Dictionaries of every size come back, before and after each other`() throws {
        for count in Array(0...70) + [500, 5000] {
            let numbers = Dictionary(uniqueKeysWithValues: (0..<count).map { ("key \($0)", $0) })
            let texts = numbers.mapValues { "text \($0 % 7)" }
            let value = [[numbers], [numbers]]
            #expect(try decode([[[String: Int]]].self, codec.encode(value)) == value)
            #expect(try decode([String: String].self, codec.encode(texts)) == texts)
        }
    }

    @Test func `A name that is defined but not used at once is still numbered`() throws {
        let a = UInt8(ascii: "a")
        let b = UInt8(ascii: "b")
        // Defines a, a = 1; defines b, a = 2; b = 3.
        let bytes: [UInt8] = [5, 1, 1, a, 8, 2, 1, 1, b, 8, 4, 16, 6, 0]
        #expect(try decode([String: Int].self, bytes) == ["a": 2, "b": 3])
        for count in 0..<bytes.count {
            #expect(throws: WireError.self) { try decode([String: Int].self, Array(bytes.prefix(count))) }
        }
    }

    @Test func `Counting ahead counts scalars, stops at other values, and doesn't move the reader`() throws {
        struct Mixed: Encodable {
            let a = 1
            let b = "text"
            let c = [1, 2]
            let d = true
        }
        let cases: [([UInt8], Int)] = [
            (try codec.encode(["x": 1, "y": 2, "z": 3]), 3), (try codec.encode(Mixed()), 2),
            (try codec.encode(Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", true) })), 64),
        ]
        for (bytes, count) in cases {
            try bytes.withUnsafeBytes { bytes in
                var reader = try CompactReader(bytes)
                #expect(try reader.readFirstKind() == .namedRecord)
                let before = reader.offset
                let counted = reader.countScalarFields()
                #expect(counted == count)
                #expect(reader.offset == before)
            }
        }
    }
}
