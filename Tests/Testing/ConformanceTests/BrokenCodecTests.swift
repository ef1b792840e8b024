import Foundation
import MeshBase
import MeshBus
import MeshIdentity
import MeshTesting
import MeshWire
import Testing

/// Each codec rule is tested with a codec that breaks only that rule on purpose.
@Suite struct BrokenCodecTests {
    @Test func `the codec on which all broken ones are based keeps every rule`() async {
        let report = await CodecConformance.examine(BrokenCodec(), as: "codec.sound")
        #expect(report.failures == [])
        #expect(report.rows.count == CodecConformance.rules.count)
    }

    @Test(arguments: CodecConformance.rules.map(\.id))
    func `a codec that breaks the rule fails it`(rule: String) async throws {
        let broken = try #require(brokenCodecs[rule], "no broken codec for \(rule)")
        let report = await CodecConformance.examine(
            broken, as: "codec.broken", rules: CodecConformance.rules.filter { $0.id == rule })
        #expect(report[rule: rule]?.outcome == .failed)
    }

    @Test func `a rule with an exemption is skipped, with its reason`() async throws {
        let rules = CodecConformance.rules.map { rule in rule.unless { _ in "the codec can't \(rule.id)" } }
        let report = await CodecConformance.examine(BrokenCodec(number: 0), as: "codec.broken", rules: rules)
        #expect(report.rows.map(\.outcome) == rules.map { _ in .skipped })
        #expect(report.rows.map(\.detail) == rules.map { "the codec can't \($0.id)" })
    }
}

private let brokenCodecs: [String: BrokenCodec] = [
    "codec.id": BrokenCodec(number: 0),
    "codec.values.samples": writing { $0.replacing(#""phase":2"#, with: #""phase":1"#) },
    "codec.values.integers": writing { $0.replacing("18446744073709551615", with: "18446744073709551614") },
    "codec.values.floats": writing { $0.replacing("[0.1]", with: "[0.10000000000000002]") },
    "codec.values.dates": writing { $0.replacing("785412345.678912", with: "785412345.678") },
    "codec.values.text": writing { $0.replacing("e\u{301}", with: "\u{E9}") },
    "codec.values.foundation": writing { $0.replacing("67890.123456789", with: "67890") },
    "codec.values.optionals": writing { $0.replacing("[1,null,3]", with: "[1,3]") },
    "codec.values.collections": writing { $0.replacing(#"[true,false]"#, with: #"[true]"#) },
    "codec.values.enums": writing { $0.replacing(#""radius":1.5"#, with: #""radius":1"#) },
    "codec.values.top-level": writing { $0 == "42" ? "43" : $0 },
    "codec.values.inheritance": writing { $0.replacing(#""legs":4"#, with: #""legs":3"#) },
    "codec.values.own-error": BrokenCodec(swallowsErrors: true),
    "codec.versions.unknown-fields": reading { type, text in
        if type == "OlderWorkout", text.contains(#""added""#) { throw BrokenCodec.Fault() }
        return text
    },
    "codec.versions.missing-optional": reading { type, text in
        if type == "ReadingWorkout", !text.contains(#""added""#) { throw BrokenCodec.Fault() }
        return text
    },
    "codec.versions.missing-field": reading { type, text in
        text == #"{"unrelated":1}"# ? #"{"last":true,"name":"","nested":{"kept":0}}"# : text
    },
    "codec.versions.unknown-case": reading { _, text in
        text.contains("finish") ? #"[{"start":{}}]"# : text
    },
    "codec.versions.order": reading { type, text in
        type == "Backwards" ? #"{"first":1,"second":"a","third":[3]}"# : text
    },
    "codec.bytes.truncated": reading { _, text in text.hasSuffix("}") ? text : "\(text)}" },
    "codec.bytes.trailing": reading { _, text in String(text.prefix { $0 != "\u{1}" && $0 != "\u{0}" }) },
    "codec.bytes.changed": writing { $0.replacing("Raturday", with: "Xaturday") },
    "codec.bytes.foreign": BrokenCodec(inventsWorkouts: true),
    "codec.bytes.narrow": reading { _, text in text == #"{"value":-1}"# ? #"{"value":1}"# : text },
    "codec.concurrent": BrokenCodec(drifts: true),
]

private func writing(_ write: @escaping @Sendable (String) -> String) -> BrokenCodec { BrokenCodec(write: write) }

private func reading(_ read: @escaping @Sendable (String, String) throws -> String) -> BrokenCodec {
    BrokenCodec(read: read)
}

/// A JSON codec that is easy to break: everything it writes and reads passes through text.
private struct BrokenCodec: PayloadCodec {
    struct Fault: Error {}

    var number: UInt8 = 200
    var write: @Sendable (String) -> String = { $0 }
    /// Changes a text before it is decoded. Gets the type's name and the text.
    var read: @Sendable (String, String) throws -> String = { $1 }
    var swallowsErrors = false
    /// Returns a workout for input that isn't one.
    var inventsWorkouts = false
    /// Writes one value in alternating ways.
    var drifts = false
    private let writeCount = Locked(0)

    init(
        number: UInt8 = 200, write: @escaping @Sendable (String) -> String = { $0 },
        read: @escaping @Sendable (String, String) throws -> String = { $1 }, swallowsErrors: Bool = false,
        inventsWorkouts: Bool = false, drifts: Bool = false
    ) {
        self.number = number
        self.write = write
        self.read = read
        self.swallowsErrors = swallowsErrors
        self.inventsWorkouts = inventsWorkouts
        self.drifts = drifts
    }

    var id: PayloadCodecID { PayloadCodecID(number: number, name: "broken") }

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let count = writeCount.withLock { count in
            count += 1
            return count
        }
        do {
            let text = write(String(decoding: try JSONCodec().encode(value), as: UTF8.self))
            return Array(text.utf8) + (drifts && count % 3 == 0 ? [UInt8(ascii: " ")] : [])
        } catch  where swallowsErrors {
            return Array("[]".utf8)
        }
    }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        do {
            let text = try read("\(type)", String(decoding: bytes, as: UTF8.self))
            return try JSONCodec().decode(type, from: Array(text.utf8))
        } catch {
            if inventsWorkouts, let workout = SamplePayloads.workout() as? Value { return workout }
            throw error
        }
    }
}
