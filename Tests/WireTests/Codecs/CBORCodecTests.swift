import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

@Suite struct CBORCodecTests {
    @Test("The examples of RFC 8949 appendix A are read, and written where they are deterministic", arguments: vectors)
    func appendixA(_ vector: Vector) throws {
        let bytes = hexBytes(vector.hex)
        let value = try bytes.withUnsafeBytes { buffer in
            var reader = CBORReader(buffer, depthMax: 32)
            return try reader.readMessage()
        }
        #expect("\(value)" == "\(vector.value)")
        if vector.isDeterministic { #expect(vector.value.encoded() == bytes) }
    }

    @Test("Every value of the zoo comes back as it was", arguments: CodableZoo.specimens.filter(\.isPlain))
    func zoo(_ specimen: Specimen) throws { try specimen.visit(RoundTrip()) }

    @Test("A message cut short or changed is a value or a typed error", arguments: CodableZoo.specimens)
    func hardening(_ specimen: Specimen) throws { try specimen.visit(Damage()) }

    @Test func `A record is a map with text keys in the order of their bytes`() throws {
        struct Point: Codable {
            var long = 1
            var y = -2
            var x = 0.5
            var id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
            var data = Data([1, 2])
            var missing: Int?
        }
        let bytes = try CBORCodec().encode(Point())
        #expect(
            bytes
                == hexBytes(
                    "a5" + "6178" + "f93800" + "6179" + "21"
                        + "626964" + "d82550000102030405060708090a0b0c0d0e0f" + "6464617461" + "420102"
                        + "646c6f6e67" + "01"))
    }

    @Test func `Equal sets and dictionaries give equal bytes`() throws {
        var left: [Double: Set<Int>] = [:]
        var right: [Double: Set<Int>] = [:]
        right.reserveCapacity(300)
        for index in 0..<50 {
            left[Double(index)] = Set(0..<20)
            right[Double(49 - index)] = Set((0..<20).reversed())
        }
        #expect(try CBORCodec().encode(left) == CBORCodec().encode(right))
    }

    @Test func `Half precision is exact both ways`() {
        for bits in UInt16.min...UInt16.max {
            let value = HalfPrecision.value(of: bits)
            if value.isNaN { continue }
            #expect(HalfPrecision.bits(of: value) == bits)
        }
        #expect(HalfPrecision.bits(of: 65_505) == nil)
        #expect(HalfPrecision.bits(of: 0x1p-25) == nil)
        #expect(HalfPrecision.bits(of: 1 + 0x1p-11) == nil)
    }

    @Test(arguments: [
        "", "18", "1c", "62ff00", "61", "5f", "9f", "bf01", "a1", "ff", "f818", "7f41ff", "a201010102",
        "9bffffffffffffffff",
        "7f61c3ff", "5fff00", "c1", "8201", "a2616101616102",
    ])
    func `What is not well-formed is an error`(hex: String) {
        #expect(throws: WireError.self) { _ = try CBORCodec().decode([Int].self, from: hexBytes(hex)) }
    }

    @Test func `Nesting is limited`() throws {
        for opening in [0x81, 0x9f, 0xc1] as [UInt8] {
            expect(.tooDeep) {
                _ = try CBORCodec().decode(Int.self, from: [UInt8](repeating: opening, count: 1_000_000))
            }
        }
    }
}

// MARK: - Vectors

struct Vector: Sendable, CustomStringConvertible {
    let hex: String
    let value: CBORValue
    var isDeterministic = true

    var description: String { hex }
}

private let vectors: [Vector] =
    [
        ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
        ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000), ("1bffffffffffffffff", UInt64.max),
    ].map { Vector(hex: $0.0, value: .unsigned($0.1)) }
    + [("20", 0), ("29", 9), ("3863", 99), ("3903e7", 999), ("3bffffffffffffffff", UInt64.max)].map {
        Vector(hex: $0.0, value: .negative($0.1))
    }
    + [
        ("f90000", 0.0), ("f98000", -0.0), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1), ("f93e00", 1.5),
        ("f97bff", 65504.0), ("fa47c35000", 100000.0), ("fa7f7fffff", 3.4028234663852886e+38),
        ("fb7e37e43c8800759c", 1.0e+300), ("f90001", 5.960464477539063e-8), ("f90400", 0.00006103515625),
        ("f9c400", -4.0), ("fbc010666666666666", -4.1), ("f97c00", Double.infinity), ("f97e00", Double.nan),
        ("f9fc00", -Double.infinity),
    ].map { Vector(hex: $0.0, value: .float($0.1)) }
    + [
        ("fa7f800000", Double.infinity), ("fa7fc00000", Double.nan), ("faff800000", -Double.infinity),
        ("fb7ff0000000000000", Double.infinity), ("fb7ff8000000000000", Double.nan),
        ("fbfff0000000000000", -Double.infinity),
    ].map { Vector(hex: $0.0, value: .float($0.1), isDeterministic: false) }
    + [
        Vector(hex: "c249010000000000000000", value: .tagged(2, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        Vector(hex: "c349010000000000000000", value: .tagged(3, .bytes([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
        Vector(hex: "f4", value: .false), Vector(hex: "f5", value: .true), Vector(hex: "f6", value: .null),
        Vector(hex: "f7", value: .undefined), Vector(hex: "f0", value: .simple(16)),
        Vector(hex: "f8ff", value: .simple(255)),
        Vector(
            hex: "c074323031332d30332d32315432303a30343a30305a", value: .tagged(0, .text("2013-03-21T20:04:00Z"))),
        Vector(hex: "c11a514b67b0", value: .tagged(1, .unsigned(1_363_896_240))),
        Vector(hex: "c1fb41d452d9ec200000", value: .tagged(1, .float(1_363_896_240.5))),
        Vector(hex: "d74401020304", value: .tagged(23, .bytes([1, 2, 3, 4]))),
        Vector(hex: "d818456449455446", value: .tagged(24, .bytes([0x64, 0x49, 0x45, 0x54, 0x46]))),
        Vector(
            hex: "d82076687474703a2f2f7777772e6578616d706c652e636f6d",
            value: .tagged(32, .text("http://www.example.com"))),
        Vector(hex: "40", value: .bytes([])), Vector(hex: "4401020304", value: .bytes([1, 2, 3, 4])),
        Vector(hex: "60", value: .text("")), Vector(hex: "6161", value: .text("a")),
        Vector(hex: "6449455446", value: .text("IETF")), Vector(hex: "62225c", value: .text("\"\\")),
        Vector(hex: "62c3bc", value: .text("\u{fc}")), Vector(hex: "63e6b0b4", value: .text("\u{6c34}")),
        Vector(hex: "64f0908591", value: .text("\u{10151}")),
        Vector(hex: "80", value: .array([])), Vector(hex: "83010203", value: .array(numbers(1...3))),
        Vector(
            hex: "8301820203820405",
            value: .array([.unsigned(1), .array(numbers(2...3)), .array(numbers(4...5))])),
        Vector(
            hex: "98190102030405060708090a0b0c0d0e0f101112131415161718181819", value: .array(numbers(1...25))),
        Vector(hex: "a0", value: .map([])),
        Vector(
            hex: "a201020304", value: map([(.unsigned(1), .unsigned(2)), (.unsigned(3), .unsigned(4))])),
        Vector(
            hex: "a26161016162820203",
            value: map([(.text("a"), .unsigned(1)), (.text("b"), .array(numbers(2...3)))])),
        Vector(hex: "826161a161626163", value: .array([.text("a"), map([(.text("b"), .text("c"))])])),
        Vector(
            hex: "a56161614161626142616361436164614461656145",
            value: map(["a", "b", "c", "d", "e"].map { (.text($0), .text($0.uppercased())) })),
        Vector(hex: "5f42010243030405ff", value: .bytes([1, 2, 3, 4, 5]), isDeterministic: false),
        Vector(hex: "7f657374726561646d696e67ff", value: .text("streaming"), isDeterministic: false),
        Vector(hex: "9fff", value: .array([]), isDeterministic: false),
        Vector(
            hex: "9f018202039f0405ffff",
            value: .array([.unsigned(1), .array(numbers(2...3)), .array(numbers(4...5))]), isDeterministic: false),
        Vector(
            hex: "83018202039f0405ff",
            value: .array([.unsigned(1), .array(numbers(2...3)), .array(numbers(4...5))]), isDeterministic: false),
        Vector(
            hex: "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", value: .array(numbers(1...25)),
            isDeterministic: false),
        Vector(
            hex: "bf61610161629f0203ffff",
            value: map([(.text("a"), .unsigned(1)), (.text("b"), .array(numbers(2...3)))]), isDeterministic: false),
        Vector(
            hex: "826161bf61626163ff", value: .array([.text("a"), map([(.text("b"), .text("c"))])]),
            isDeterministic: false),
        Vector(
            hex: "bf6346756ef563416d7421ff", value: map([(.text("Fun"), .true), (.text("Amt"), .negative(1))]),
            isDeterministic: false),
    ]

private func numbers(_ range: ClosedRange<UInt64>) -> [CBORValue] { range.map { .unsigned($0) } }

private func map(_ pairs: [(CBORValue, CBORValue)]) -> CBORValue {
    .map(pairs.map { CBORPair(key: $0.0, value: $0.1) })
}

private func hexBytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
}

// MARK: - Visitors

extension Specimen {
    /// CBOR has one nil: an optional inside an optional does not survive, as in JSON.
    fileprivate var isPlain: Bool {
        !name.contains("Optional<Optional") && !name.contains("Optional<BoxedNil") && !name.contains("Optionals")
    }
}

private struct RoundTrip: SpecimenVisitor {
    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes = try CBORCodec().encode(value)
        #expect(try CBORCodec().decode(Value.self, from: bytes) == value)
        #expect(try CBORCodec().encode(value) == bytes)
    }
}

private struct Damage: SpecimenVisitor {
    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes = try CBORCodec().encode(value)
        for index in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 150)) {
            read(Value.self, [UInt8](bytes[..<index]))
            for change in [0x01, 0x20, 0x80, 0xff] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                read(Value.self, changed)
            }
        }
    }

    private func read<Value: Codable>(_ type: Value.Type, _ bytes: [UInt8]) {
        do {
            _ = try CBORCodec().decode(type, from: bytes)
        } catch {
            #expect(error is WireError || error is DecodingError || error is CancellationError)
        }
    }
}
