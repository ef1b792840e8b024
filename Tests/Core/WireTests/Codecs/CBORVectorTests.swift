import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

/// The examples of RFC 8949, appendix A: all of them are read, and what is deterministic in them is written.
@Suite struct CBORVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let bytes: String
        let value: CBORDiagnostic
        let isDeterministic: Bool

        init(_ bytes: String, _ value: CBORDiagnostic, written isDeterministic: Bool = true) {
            self.bytes = bytes
            self.value = value
            self.isDeterministic = isDeterministic
        }

        var testDescription: String { bytes }
    }

    @Test("Appendix A is read, and written the same", arguments: vectors)
    func vector(_ vector: Vector) throws {
        let bytes = hexadecimal(vector.bytes)
        let value = try CBORCodec().decode(CBORDiagnostic.self, from: bytes)
        #expect(value == vector.value)
        if vector.isDeterministic {
            #expect(try CBORCodec().encode(value).hexadecimalText == vector.bytes)
        } else {
            let written = try CBORCodec().encode(value)
            #expect(try CBORCodec().decode(CBORDiagnostic.self, from: written) == value)
        }
    }

    @Test("Simple values without a meaning are skipped where nobody asks", arguments: ["f0", "f8ff", "f7"])
    func simple(bytes: String) throws {
        struct Reader: Codable { var b: Int }
        let skipped = hexadecimal("a2 6161 \(bytes) 6162 01")
        #expect(try CBORCodec().decode(Reader.self, from: skipped).b == 1)
        expect(.typeMismatch) { _ = try CBORCodec().decode(Bool.self, from: hexadecimal(bytes)) }
    }

    @Test func `Tags are known by the types that they are for`() throws {
        let link = hexadecimal("d82076687474703a2f2f7777772e6578616d706c652e636f6d")
        #expect(try CBORCodec().decode(URL.self, from: link) == URL(string: "http://www.example.com"))
        #expect(try CBORCodec().encode(URL(string: "http://www.example.com")) == link)
        for time in ["c11a514b67b0", "c1fb41d452d9ec000000"] {
            let date = try CBORCodec().decode(Date.self, from: hexadecimal(time))
            #expect(date == Date(timeIntervalSince1970: 1_363_896_240))
        }
        // RFC 8949, section 3.4.4: 273.15.
        let decimal = hexadecimal("c48221196ab3")
        #expect(try CBORCodec().decode(Decimal.self, from: decimal) == Decimal(string: "273.15"))
        #expect(try CBORCodec().encode(Decimal(string: "273.15")) == decimal)
    }

    @Test func `Maps are sorted by the bytes of their keys`() throws {
        // RFC 8949, section 4.2.1: by the encoded key, so the shorter text comes first and -1 comes after every other.
        #expect(
            try CBORCodec().encode([10: 0, 100: 1, -1: 2, 1000: 3]).hexadecimalText
                == "a40a0018640119 03e80320 02"
                .filter { $0 != " " })
        #expect(try CBORCodec().encode(["aa": 1, "z": 0, "": 2]).hexadecimalText == "a36002617a0062616101")
    }

    static let vectors: [Vector] = integers + floats + simples + tagged + strings + containers + indefinite

    private static let integers: [Vector] = [
        Vector("00", 0), Vector("01", 1), Vector("0a", 10), Vector("17", 23), Vector("1818", 24), Vector("1819", 25),
        Vector("1864", 100), Vector("1903e8", 1000), Vector("1a000f4240", 1_000_000),
        Vector("1b000000e8d4a51000", 1_000_000_000_000), Vector("1bffffffffffffffff", .unsigned(.max)),
        Vector("c249010000000000000000", .wide(Decimal(UInt64.max) + 1)),
        Vector("3bffffffffffffffff", .wide(-1 - Decimal(UInt64.max))),
        Vector("c349010000000000000000", .wide(-2 - Decimal(UInt64.max))),
        Vector("20", -1), Vector("29", -10), Vector("3863", -100), Vector("3903e7", -1000),
    ]

    private static let floats: [Vector] = [
        Vector("f90000", 0.0), Vector("f98000", -0.0), Vector("f93c00", 1.0), Vector("fb3ff199999999999a", 1.1),
        Vector("f93e00", 1.5), Vector("f97bff", 65504.0), Vector("fa47c35000", 100000.0),
        Vector("fa7f7fffff", 3.4028234663852886e+38), Vector("fb7e37e43c8800759c", 1.0e+300),
        Vector("f90001", 5.960464477539063e-8), Vector("f90400", 0.00006103515625), Vector("f9c400", -4.0),
        Vector("fbc010666666666666", -4.1), Vector("f97c00", .float(.infinity)), Vector("f97e00", .float(.nan)),
        Vector("f9fc00", .float(-.infinity)), Vector("fa7f800000", .float(.infinity), written: false),
        Vector("fa7fc00000", .float(.nan), written: false), Vector("faff800000", .float(-.infinity), written: false),
        Vector("fb7ff0000000000000", .float(.infinity), written: false),
        Vector("fb7ff8000000000000", .float(.nan), written: false),
        Vector("fbfff0000000000000", .float(-.infinity), written: false),
    ]

    private static let simples: [Vector] = [
        Vector("f4", false), Vector("f5", true), Vector("f6", nil), Vector("f7", nil, written: false),
    ]

    /// Read by their content, without the tag.
    private static let tagged: [Vector] = [
        Vector("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z", written: false),
        Vector("c11a514b67b0", 1_363_896_240, written: false),
        Vector("c1fb41d452d9ec200000", 1363896240.5, written: false),
        Vector("d74401020304", .bytes(Data([1, 2, 3, 4])), written: false),
        Vector("d818456449455446", .bytes(Data([0x64, 0x49, 0x45, 0x54, 0x46])), written: false),
        Vector("d82076687474703a2f2f7777772e6578616d706c652e636f6d", "http://www.example.com", written: false),
    ]

    private static let strings: [Vector] = [
        Vector("40", .bytes(Data())), Vector("4401020304", .bytes(Data([1, 2, 3, 4]))), Vector("60", ""),
        Vector("6161", "a"), Vector("6449455446", "IETF"), Vector("62225c", "\"\\"), Vector("62c3bc", "\u{fc}"),
        Vector("63e6b0b4", "\u{6c34}"), Vector("64f0908591", "\u{10151}"),
    ]

    private static let containers: [Vector] = [
        Vector("80", []), Vector("83010203", [1, 2, 3]), Vector("8301820203820405", [1, [2, 3], [4, 5]]),
        Vector(
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            .list((1...25).map { .integer($0) })),
        Vector("a0", [:]), Vector("a201020304", .numbers([1: 2, 3: 4])),
        Vector("a26161016162820203", ["a": 1, "b": [2, 3]]), Vector("826161a161626163", ["a", ["b": "c"]]),
        Vector("a56161614161626142616361436164614461656145", ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]),
    ]

    private static let indefinite: [Vector] = [
        Vector("5f42010243030405ff", .bytes(Data([1, 2, 3, 4, 5])), written: false),
        Vector("7f657374726561646d696e67ff", "streaming", written: false), Vector("9fff", [], written: false),
        Vector("9f018202039f0405ffff", [1, [2, 3], [4, 5]], written: false),
        Vector("9f01820203820405ff", [1, [2, 3], [4, 5]], written: false),
        Vector("83018202039f0405ff", [1, [2, 3], [4, 5]], written: false),
        Vector("83019f0203ff820405", [1, [2, 3], [4, 5]], written: false),
        Vector(
            "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", .list((1...25).map { .integer($0) }),
            written: false),
        Vector("bf61610161629f0203ffff", ["a": 1, "b": [2, 3]], written: false),
        Vector("826161bf61626163ff", ["a", ["b": "c"]], written: false),
        Vector("bf6346756ef563416d7421ff", ["Fun": true, "Amt": -2], written: false),
    ]
}
