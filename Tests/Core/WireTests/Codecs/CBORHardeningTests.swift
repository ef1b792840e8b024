import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Bytes from outside: whatever they are, decoding ends in a value or in a typed error.
@Suite struct CBORHardeningTests {
    static let specimens: [Specimen] = CBORRoundTripTests.specimens

    @Test("A message cut short anywhere is an error", arguments: specimens)
    func cuts(_ specimen: Specimen) throws {
        try specimen.visit(
            Attack { bytes, decode in
                for length in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
                    expect(.truncated) { try decode([UInt8](bytes[..<length])) }
                }
            })
    }

    @Test("A message with any byte changed is a value or a typed error", arguments: specimens)
    func flips(_ specimen: Specimen) throws {
        try specimen.visit(
            Attack { bytes, decode in
                for index in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
                    for change in [0x01, 0x08, 0x20, 0x80, 0xff] as [UInt8] {
                        var changed = bytes
                        changed[index] ^= change
                        expectTypedError { try decode(changed) }
                    }
                }
            })
    }

    @Test("A message of one type read as any other is a value or a typed error", arguments: specimens)
    func confusion(_ specimen: Specimen) throws {
        try specimen.visit(
            Attack { bytes, _ in
                for other in Self.specimens {
                    try? other.visit(Attack { _, decode in expectTypedError { try decode(bytes) } })
                }
            })
    }

    @Test("Bytes that are no CBOR are corrupted", arguments: malformedMessages)
    func malformed(_ bytes: String) {
        expect(.corrupted) { _ = try CBORCodec().decode(CBORDiagnostic.self, from: hexadecimal(bytes)) }
        // Also where nobody looks.
        struct Empty: Codable {}
        expect(.corrupted) { _ = try CBORCodec().decode(Empty.self, from: hexadecimal("a16161" + bytes)) }
    }

    static let malformedMessages: [String] = [
        // Reserved additional information; breaks and indefinite lengths where there are none.
        "1c", "3d", "5e", "7c", "9d", "bc", "dc", "fd", "1f", "3f", "df00", "ff", "81ff", "a1ff00", "a161 61ff",
        "bf6161ff",
        // Simple values in two bytes that have a form of one.
        "f800", "f818", "f81f",
        // Parts of strings that are of another kind, or indefinite again.
        "5f6161ff", "7f4161ff", "5f5f4161ffff", "7f01ff", "7f61c361bcff",
        // Not UTF-8: overlong, a surrogate, beyond Unicode, cut.
        "61ff", "62c0af", "63eda080", "64f4908080", "63f09f98", "6a6162636465666768 69ff", "a161ff00",
        // A key twice: in order, out of order, not in its shortest form, in parts.
        "a2616101616102", "a36161016162026161 03", "a2010118 0102", "a2616101780161 02", "a26161017f6161ff02",
        "a2810001810002", "a2f500f501", "a24161004161 01", "a220003800 00", "bf61610061 6101ff",
    ]

    @Test func `Bytes after the value are an error`() throws {
        expect(.trailingBytes) { _ = try CBORCodec().decode(Int.self, from: [1, 0]) }
        expect(.trailingBytes) { _ = try CBORCodec().decode([Int].self, from: [0x80, 0xff]) }
        expect(.truncated) { _ = try CBORCodec().decode(Int.self, from: []) }
    }

    @Test func `Nesting up to the limit is fine, and one level more is refused both ways`() throws {
        indirect enum Nest: Codable, Equatable {
            case end
            case deeper(Nest)

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                self = container.isAtEnd ? .end : .deeper(try container.decode(Nest.self))
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                if case .deeper(let inner) = self { try container.encode(inner) }
            }
        }
        func nest(_ levels: Int) -> Nest { (1..<levels).reduce(.end) { nest, _ in .deeper(nest) } }
        let codec = CBORCodec()
        #expect(codec.depthMax == CompactCodec().depthMax)
        #expect(try codec.decode(Nest.self, from: codec.encode(nest(32))) == nest(32))
        expect(.tooDeep) { _ = try codec.encode(nest(33)) }
        let deeper = try CBORCodec(depthMax: 128).encode(nest(33))
        expect(.tooDeep) { _ = try codec.decode(Nest.self, from: deeper) }
        for opening in [[0x81], [0x9f], [0xa1, 0x00], [0xbf, 0x00], [0xc1], [0x81, 0xc1]] as [[UInt8]] {
            let bytes = Array([[UInt8]](repeating: opening, count: 1_000_000).joined())
            expect(.tooDeep) { _ = try codec.decode(Nest.self, from: bytes) }
        }
        // Arrays of scalars are levels too.
        expect(.tooDeep) { _ = try CBORCodec(depthMax: 1).encode(["a": [1]]) }
        #expect(try CBORCodec(depthMax: 2).encode(["a": [1]]).count == 5)
    }

    @Test(
        "A count that the bytes cannot hold reserves nothing",
        arguments: ["9b", "bb", "5b", "7b", "9a", "ba", "5a", "7a"])
    func counts(head: String) {
        let bytes = hexadecimal(head + String(repeating: "7f", count: 12))
        expect(.truncated) { _ = try CBORCodec().decode([Double].self, from: bytes) }
        expect(.truncated) { _ = try CBORCodec().decode([Int: Leaf].self, from: bytes) }
        expect(.truncated) { _ = try CBORCodec().decode(String.self, from: bytes) }
    }

    @Test func `A number that does not fit is invalid`() throws {
        let codec = CBORCodec()
        expect(.invalidValue) { _ = try codec.decode(UInt8.self, from: codec.encode(256)) }
        expect(.invalidValue) { _ = try codec.decode(Int8.self, from: codec.encode(-129)) }
        expect(.invalidValue) { _ = try codec.decode(UInt64.self, from: codec.encode(-1)) }
        expect(.invalidValue) { _ = try codec.decode(Int64.self, from: codec.encode(UInt64.max)) }
        expect(.invalidValue) { _ = try codec.decode(Int64.self, from: hexadecimal("3b8000000000000000")) }
        expect(.invalidValue) { _ = try codec.decode(UInt.self, from: hexadecimal("c249010000000000000000")) }
        expect(.invalidValue) { _ = try codec.decode(UInt.self, from: hexadecimal("c340")) }
        expect(.invalidValue) { _ = try codec.decode(Float.self, from: codec.encode(1e300)) }
        expect(.invalidValue) { _ = try codec.decode(Double.self, from: codec.encode(UInt64.max)) }
        expect(.invalidValue) { _ = try codec.decode(Decimal.self, from: hexadecimal("c4821903e801")) }
        expect(.invalidValue) { _ = try codec.decode(UUID.self, from: hexadecimal("d8254101")) }
        expect(.typeMismatch) { _ = try codec.decode(Int.self, from: codec.encode(1.0)) }
        #expect(try codec.decode(Int.self, from: hexadecimal("c24a0000000000000000002a")) == 42)
        #expect(
            try codec.decode([Double].self, from: hexadecimal("83013903e73bffffffffffffffff")) == [1, -1000, -0x1p64])
    }

    @Test func `An error says where it was met`() throws {
        struct Outer: Codable { var leaves: [Leaf] }
        let bytes = try CBORCodec().encode(["leaves": [["number": "no number"]]])
        let error = #expect(throws: WireError.self) { _ = try CBORCodec().decode(Outer.self, from: bytes) }
        #expect(error?.code == .typeMismatch)
        #expect(error?.path == ["leaves", "0", "number"])
        expect(.missingField) { _ = try CBORCodec().decode(Outer.self, from: hexadecimal("a0")) }
    }

    @Test func `A case that is not known is named`() throws {
        let bytes = try CBORCodec().encode(["square": ["side": 1]])
        let error = #expect(throws: WireError.self) { _ = try CBORCodec().decode(Shape.self, from: bytes) }
        #expect(error?.code == .unknownCase)
        #expect(error?.message.contains("square") == true)
    }

    @Test func `Tags that nobody knows are skipped`() throws {
        let bytes = hexadecimal("d9d9f7 a2 6474657874 da00010000 6161 666e756d626572 d819 d81a 07")
        let leaf = try CBORCodec().decode([String: CBORDiagnostic].self, from: bytes)
        #expect(leaf == ["text": "a", "number": 7])
    }

    @Test func `Maps in any order are read, by name or number`() throws {
        #expect(
            try CBORCodec().decode([Int: Int].self, from: hexadecimal("a3613202 200301 04")) == [1: 4, -1: 3, 2: 2])
        #expect(try CBORCodec().decode(IntKeys.self, from: hexadecimal("a22261620701")) == IntKeys(a: 1, b: "b"))
        let names = (0..<2000).map { "name \($0 &* 7919 % 2000)" }
        var bytes = hexadecimal("b907d0")
        for name in names { bytes += [UInt8(0x60 + name.utf8.count)] + Array(name.utf8) + [0] }
        #expect(try CBORCodec().decode([String: Int].self, from: bytes).count == 2000)
    }
}

private func expectTypedError(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    do {
        try body()
    } catch {
        // The zoo's own types throw the last.
        #expect(
            error is WireError || error is DecodingError || error is CancellationError, sourceLocation: sourceLocation)
    }
}

/// Encodes a specimen and hands over its bytes and what decodes others as its type.
private struct Attack: SpecimenVisitor {
    let body: ([UInt8], ([UInt8]) throws -> Void) throws -> Void

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let codec = CBORCodec()
        try body(codec.encode(value)) { _ = try codec.decode(Value.self, from: $0) }
    }
}
