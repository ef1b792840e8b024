import Foundation
import MeshBase
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Untrusted bytes: decoding ends in a value or in a typed error, and uses little memory.
@Suite struct CompactHardeningTests {
    static let codecs = [CompactCodec(), CompactCodec(usesDirectPath: false)]

    @Test("A message cut short anywhere is an error", arguments: CodableZoo.specimens)
    func cuts(_ specimen: Specimen) throws {
        for codec in Self.codecs { try specimen.visit(Cut(codec: codec)) }
    }

    @Test("A message with any byte changed is a value or a typed error", arguments: CodableZoo.specimens)
    func flips(_ specimen: Specimen) throws {
        for codec in Self.codecs { try specimen.visit(Flip(codec: codec)) }
    }

    @Test("Decoding a message as any other type gives a value or a typed error", arguments: CodableZoo.specimens)
    func confusion(_ specimen: Specimen) throws {
        for codec in Self.codecs {
            let collector = Encoded(codec: codec)
            try specimen.visit(collector)
            for other in CodableZoo.specimens { try other.visit(Misread(codec: codec, bytes: collector.bytes)) }
        }
    }

    @Test(arguments: [-1, .min, 4, .max])
    func `A raw read of a negative or too large count is truncated and moves nothing`(count: Int) {
        let bytes: [UInt8] = [1, 2, 3]
        bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            let error = #expect(throws: WireError.self) { _ = try reader.readRaw(count) }
            #expect(error?.code == .truncated)
            #expect(reader.remaining == 3)
        }
    }

    @Test func `Random bytes are a value or a typed error`() throws {
        var source = SplitMix64(seed: 11)
        for _ in 0..<3000 {
            let bytes = (0..<Int(source.next() % 60)).map { index in
                index == 0 ? UInt8(source.next() % 34) : UInt8(truncatingIfNeeded: source.next())
            }
            for codec in Self.codecs {
                expectTypedError { _ = try codec.decode(SampleWorkout.self, from: bytes) }
                expectTypedError { _ = try codec.decode(SampleEvent.self, from: bytes) }
                expectTypedError { _ = try codec.decode([String: [Leaf?]].self, from: bytes) }
                expectTypedError { _ = try codec.decode([Int: Shape].self, from: bytes) }
                expectTypedError { _ = try codec.decode(Mixed.self, from: bytes) }
            }
        }
    }

    @Test func `Bytes after the value are an error`() throws {
        for codec in Self.codecs {
            expect(.trailingBytes) { _ = try codec.decode(Int.self, from: codec.encode(1) + [0]) }
            expect(.trailingBytes) { _ = try codec.decode(Leaf.self, from: codec.encode(Leaf()) + [0]) }
        }
    }

    @Test(arguments: [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0xf0, 0x9f, 0x98]])
    func `Text that is not UTF-8 is an error`(text: [UInt8]) throws {
        for codec in Self.codecs {
            expect(.corrupted) {
                _ = try codec.decode(String.self, from: [WireKind.string.rawValue, UInt8(text.count)] + text)
            }
            let record = [WireKind.namedRecord.rawValue, 1, UInt8(text.count)] + text + [8, 2, 0]
            expect(.corrupted) { _ = try codec.decode([String: Int].self, from: record) }
        }
    }

    @Test func `A string that isn't UTF-8 keeps its number, and a repetition of it is an error too`() throws {
        struct Tolerant: Decodable {
            enum Keys: CodingKey { case first, second, third }
            var second: String
            var third: String

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                #expect(throws: WireError.self) { try container.decode(String.self, forKey: .first) }
                second = try container.decode(String.self, forKey: .second)
                third = try container.decode(String.self, forKey: .third)
            }
        }
        /// A record of an invalid string, another string, and a repetition of one of them.
        func record(repeating number: UInt8) -> [UInt8] {
            let invalid: [UInt8] = [1, 5] + Array("first".utf8) + [1 << 3 | 2, 3, 0xff, 0xfe, 0xfd]
            let second: [UInt8] = [1, 6] + Array("second".utf8) + [2 << 3 | 2, 4] + Array("Grü".utf8)
            let third: [UInt8] = [1, 5] + Array("third".utf8) + [3 << 3 | 7, WireKind.repeatedString.rawValue, number]
            return [WireKind.namedRecord.rawValue] + invalid + second + third + [0]
        }
        for codec in Self.codecs {
            let value = try codec.decode(Tolerant.self, from: record(repeating: 1))
            #expect(value.second == "Grü" && value.third == "Grü")
            expect(.corrupted) { _ = try codec.decode(Tolerant.self, from: record(repeating: 0)) }
            expect(.corrupted) { _ = try codec.decode(Tolerant.self, from: record(repeating: 2)) }
        }
    }

    @Test func `Texts of any script survive, repeated or not, and with a changed byte are typed errors at most`() throws
    {
        var source = SplitMix64(seed: 56)
        let extremes = "\u{0}\u{7F}\u{10FFFF}e\u{301}"
        let scripts = ["abc xyz", "äöüß", "αβγδ", "бгджя", "日本語のあ", "😀👩‍👩‍👧🏽", extremes].map(Array.init)
        for _ in 0..<200 {
            let texts = (0..<Int(source.next() % 12)).map { _ in
                let script = scripts[Int(source.next() % UInt64(scripts.count))]
                return String((0..<source.next() % 24).map { _ in script[Int(source.next() % UInt64(script.count))] })
            }
            let repeated = texts + texts.shuffled(using: &source)
            for codec in Self.codecs {
                var bytes = try codec.encode(repeated)
                let read = try codec.decode([String].self, from: bytes)
                // `==` would accept another normal form.
                #expect(read.map { Array($0.utf8) } == repeated.map { Array($0.utf8) })
                let index = Int(source.next() % UInt64(bytes.count))
                bytes[index] ^= UInt8(1 + source.next() % 255)
                expectTypedError { _ = try codec.decode([String].self, from: bytes) }
            }
        }
    }

    // MARK: - Depth

    @Test func `Nesting up to the limit is accepted, and one level more is rejected both ways`() throws {
        for codec in Self.codecs {
            let limit = codec.depthMax
            let deep = nest(limit)
            #expect(try codec.decode(Nest.self, from: codec.encode(deep)) == deep)
            expect(.tooDeep) { _ = try codec.encode(nest(limit + 1)) }
            let deeper = CompactCodec(depthMax: 128, usesDirectPath: codec.usesDirectPath)
            let bytes = try deeper.encode(nest(limit + 1))
            expect(.tooDeep) { _ = try codec.decode(Nest.self, from: bytes) }
            expect(.tooDeep) { _ = try codec.decode(Empty.self, from: bytes) }
        }
    }

    @Test func `A direct type that is nested too deep is refused`() throws {
        let codec = CompactCodec()
        expect(.tooDeep) { _ = try codec.encode(DirectNest.make(40)) }
        let bytes = try CompactCodec(depthMax: 64).encode(DirectNest.make(40))
        expect(.tooDeep) { _ = try codec.decode(DirectNest.self, from: bytes) }
        #expect(try CompactCodec(depthMax: 64).decode(DirectNest.self, from: bytes) == DirectNest.make(40))
    }

    @Test func `A million opening brackets are refused at once`() throws {
        let bytes = (0..<1_000_000).map { UInt8($0 % 2 == 0 ? 6 : 1) }
        for codec in Self.codecs {
            expectTypedError { _ = try codec.decode(Nest.self, from: bytes) }
            expectTypedError { _ = try codec.decode(SampleTrack.self, from: bytes) }
            expectTypedError { _ = try codec.decode(Recursive.self, from: bytes) }
        }
    }

    // MARK: - Memory

    @Test func `A count that the bytes cannot hold reserves nothing`() throws {
        let count: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0x0f]
        for codec in Self.codecs {
            for kind in [WireKind.list, .doubles, .floats, .int16s, .ints, .uints, .uuids, .bytes, .string] {
                expectTypedError { _ = try codec.decode([Double].self, from: [kind.rawValue] + count) }
                expectTypedError { _ = try codec.decode([Leaf].self, from: [kind.rawValue] + count) }
                expectTypedError { _ = try codec.decode(NumberList.self, from: [kind.rawValue] + count) }
                expectTypedError { _ = try codec.decode(String.self, from: [kind.rawValue] + count) }
                expectTypedError { _ = try codec.decode(Int.self, from: [kind.rawValue] + count) }
            }
        }
    }

    @Test func `Elements of a byte each that are large in memory are refused`() throws {
        // 200,000 times nil. In memory each nil takes as many bytes as the complete struct.
        let bytes =
            [WireKind.list.rawValue, 0xc0, 0x9a, 0x0c] + [UInt8](repeating: WireKind.nil.rawValue, count: 200_000)
        #expect(MemoryLayout<SampleWorkout.Segment?>.stride > 64)
        expect(.oversized) { _ = try CompactCodec().decode([SampleWorkout.Segment?].self, from: bytes) }
    }

    // MARK: - Errors

    @Test func `An error names its position`() throws {
        struct Outer: Codable {
            var leaves: [Leaf]
        }
        struct Other: Codable {
            struct Leaf: Codable { var number = "no number" }
            var leaves = [Leaf()]
        }
        let bytes = try CompactCodec().encode(Other())
        let error = #expect(throws: WireError.self) { _ = try CompactCodec().decode(Outer.self, from: bytes) }
        #expect(error?.code == .typeMismatch)
        #expect(error?.path == ["leaves", "0", "number"])
    }

    @Test func `Errors of a value's own coding are rethrown`() throws {
        struct Picky: Codable {
            init() {}
            func encode(to encoder: any Encoder) throws { try 1.encode(to: encoder) }
            init(from decoder: any Decoder) throws {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "picky"))
            }
        }
        struct Refusing: Codable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        #expect(throws: DecodingError.self) {
            _ = try CompactCodec().decode([Picky].self, from: CompactCodec().encode([Picky()]))
        }
        #expect(throws: CancellationError.self) { _ = try CompactCodec().encode(["a": Refusing()]) }
    }

    private func nest(_ levels: Int) -> Nest { Nest.make(levels) }
}

/// A level of nesting is one record or one list.
private struct Nest: Codable, Equatable {
    var inner: [Nest]?

    /// An odd number of levels ends in a record, an even one in a list.
    static func make(_ levels: Int) -> Nest {
        var result = Nest()
        var left = levels - 1
        if left % 2 == 1 {
            result = Nest(inner: [])
            left -= 1
        }
        while left > 0 {
            result = Nest(inner: [result])
            left -= 2
        }
        return result
    }
}

private struct DirectNest: WireCodable, Codable, Equatable {
    var inner: [DirectNest]

    static func make(_ levels: Int) -> DirectNest {
        (0..<levels / 2).reduce(DirectNest(inner: [])) { inner, _ in DirectNest(inner: [inner]) }
    }

    enum WireKeys: Int, CodingKey { case inner = 1 }

    init(inner: [DirectNest]) { self.inner = inner }
    func encode(into fields: inout WireFieldWriter<WireKeys>) { fields.write(inner, .inner) }
    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) { inner = try fields.read(.inner) }
}

/// Recurses through nested containers only, as helpers for untyped JSON do.
private struct Recursive: Decodable {
    init(from decoder: any Decoder) throws { try Self.descend(decoder.unkeyedContainer()) }

    static func descend(_ container: any UnkeyedDecodingContainer) throws {
        var container = container
        while !container.isAtEnd { try descend(container.nestedUnkeyedContainer()) }
    }
}

// MARK: - Visitors

private func expectTypedError(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    do {
        try body()
    } catch is WireError {
    } catch is DecodingError {
    } catch is CancellationError {
        // The zoo's own types throw it.
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
}

func expect(_ code: WireError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    let error = #expect(throws: WireError.self, sourceLocation: sourceLocation, performing: body)
    #expect(error?.code == code, sourceLocation: sourceLocation)
}

private struct Cut: SpecimenVisitor {
    let codec: CompactCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes = try codec.encode(value)
        for length in strideOver(bytes.count) {
            let short = [UInt8](bytes[..<length])
            do {
                _ = try codec.decode(Value.self, from: short)
                Issue.record("\(length) of \(bytes.count) bytes were read as a value")
            } catch {
                #expect(error is WireError || error is DecodingError || error is CancellationError)
            }
        }
    }
}

/// Every position of a short message, and some of a long one.
private func strideOver(_ count: Int) -> StrideTo<Int> { stride(from: 0, to: count, by: max(1, count / 400)) }

private struct Flip: SpecimenVisitor {
    let codec: CompactCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes = try codec.encode(value)
        for index in strideOver(bytes.count) {
            for change in [0x01, 0x08, 0x80, 0xff] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                expectTypedError { _ = try codec.decode(Value.self, from: changed) }
            }
        }
    }
}

private final class Encoded: SpecimenVisitor {
    let codec: CompactCodec
    var bytes: [UInt8] = []

    init(codec: CompactCodec) { self.codec = codec }
    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws { bytes = try codec.encode(value) }
}

private struct Misread: SpecimenVisitor {
    let codec: CompactCodec
    let bytes: [UInt8]

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        expectTypedError { _ = try codec.decode(Value.self, from: bytes) }
    }
}
