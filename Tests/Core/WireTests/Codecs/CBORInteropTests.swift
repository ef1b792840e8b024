import Foundation
import MeshIdentity
import MeshTestSupport
import MeshTesting
import Testing

@testable import MeshWire

/// What we write, cbor2 for Python reads; what it writes, we read; and both write the same deterministic bytes.
@Suite struct CBORInteropTests {
    @Test func `Values go to Python's cbor2 and come back`() async throws {
        let cases = try Self.cases()
        let input = cases.map { "\($0.bytes.hexadecimalText)\t\($0.meaning)\n" }.joined()
        guard let output = try await Self.runPython(input) else { return }
        let lines = output.split(separator: "\n")
        try #require(lines.count == cases.count, "\(output)")
        for (line, exchange) in zip(lines, cases) {
            let fields = line.split(separator: "\t").map { hexadecimal(String($0)) }
            try #require(fields.count == 2, "\(line)")
            #expect(fields[0].hexadecimalText == exchange.bytes.hexadecimalText, "\(exchange.meaning)")
            for bytes in fields {
                #expect(try exchange.isReadFrom(bytes), "\(exchange.meaning): \(bytes.hexadecimalText)")
            }
        }
    }

    private struct Exchange {
        let bytes: [UInt8]
        /// In Python.
        let meaning: String
        let isReadFrom: ([UInt8]) throws -> Bool

        init<Value: Codable & Equatable>(_ value: Value, _ meaning: String = "value") throws {
            bytes = try CBORCodec().encode(value)
            self.meaning = meaning
            let written = bytes
            // NaN differs from itself; bytes tell.
            isReadFrom = {
                let back = try CBORCodec().decode(Value.self, from: $0)
                return try back == value || CBORCodec().encode(back) == written
            }
        }
    }

    private static func cases() throws -> [Exchange] {
        let id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))
        return try [
            Exchange(
                [0, 23, 24, 255, 256, 65535, 65536, 4_294_967_295, 4_294_967_296, Int.max] as [Int],
                "[0, 23, 24, 255, 256, 65535, 65536, 4294967295, 4294967296, 2**63 - 1]"),
            Exchange([-1, -24, -25, -256, -257, -65537, Int.min], "[-1, -24, -25, -256, -257, -65537, -2**63]"),
            Exchange(UInt64.max, "2**64 - 1"),
            Exchange(
                [0, -0.0, 1, 1.5, 0.1, 65504, 65505, 1e300, .infinity, -.infinity, .nan, 0x1p-24, 0x1p-25],
                "[0.0, -0.0, 1.0, 1.5, 0.1, 65504.0, 65505.0, 1e300, inf, -inf, nan, 2.0**-24, 2.0**-25]"),
            Exchange(Float(0.1), "0.10000000149011612"),
            Exchange([true, false, nil], "[True, False, None]"),
            Exchange(["", "Grüße", "日本語", "a\u{0}b", "\u{10FFFF}"], "['', 'Grüße', '日本語', 'a\\0b', '\\U0010ffff']"),
            Exchange(Data(0...255), "bytes(range(256))"), Exchange(id, "UUID('00010203-0405-0607-0809-0a0b0c0d0eff')"),
            Exchange(URL(string: "https://example.org/a?b=c#d"), "CBORTag(32, 'https://example.org/a?b=c#d')"),
            Exchange(
                [Decimal(string: "273.15"), Decimal(string: "-12345678901234567890.123456789"), 1000],
                "[Decimal('273.15'), Decimal('-12345678901234567890.123456789'), Decimal('1E+3')]"),
            Exchange(Date(timeIntervalSinceReferenceDate: 785_412_345.678912), "785412345.678912"),
            Exchange(["b": [1], "a": [], "aa": [2]], "{'b': [1], 'a': [], 'aa': [2]}"),
            Exchange([1: "one", 1000: "many", 30: "some"], "{1: 'one', 1000: 'many', 30: 'some'}"),
            Exchange([1.5: "a"], "[1.5, 'a']"), Exchange(Set([3, 1, 2]), "[1, 2, 3]"),
            Exchange(Shape.circle(radius: 2), "{'circle': {'radius': 2.0}}"),
            Exchange(Shape.pair(1, "x"), "{'pair': {'_0': 1, '_1': 'x'}}"),
            Exchange(Leaf(), "{'number': 1, 'text': 'leaf', 'date': 0.5}"),
            Exchange(Optionals(), "{'h': 8}"), Exchange(Empty(), "{}"), Exchange(Color.green, "'green'"),
            Exchange(SamplePayloads.event()), Exchange(SamplePayloads.metrics()), Exchange(SamplePayloads.workout()),
            Exchange(SamplePayloads.track(count: 50)), Exchange(SamplePayloads.record()),
            Exchange(SamplePayloads.document()),
        ] + wideIntegers()
    }

    private static func wideIntegers() throws -> [Exchange] {
        guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { return [] }
        return try [
            Exchange(UInt128.max, "2**128 - 1"), Exchange(Int128.min, "-2**127"),
            Exchange(Int128(UInt64.max) + 1, "2**64"), Exchange(-Int128(UInt64.max) - 1, "-2**64"),
            Exchange(-Int128(UInt64.max) - 2, "-2**64 - 1"),
        ]
    }

    /// - Returns: what the script prints; nil where Python or cbor2 is missing, which continuous integration does not allow.
    private static func runPython(_ input: String) async throws -> String? {
        let script = Checkout.interop.appending(path: "roundtrip_cbor.py")
        let isRequired = ProcessInfo.processInfo.environment["CI"] == "true"
        guard try await Program.run("python3", ["-c", "import cbor2"]).status == 0 else {
            print("skipped: python3 with cbor2 is missing")
            #expect(!isRequired, "python3 with cbor2 is missing; Tools/prepare installs it")
            return nil
        }
        let (status, output) = try await Program.run(
            "python3", ["-B", "-X", "utf8", script.path], input: input)
        try #require(status == 0, "\(output)")
        return output
    }
}
