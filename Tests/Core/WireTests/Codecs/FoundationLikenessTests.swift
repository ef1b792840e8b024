import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

/// If Codable leaves a choice, every codec behaves as Foundation's JSON encoder does.
@Suite struct FoundationLikenessTests {
    private static let foundation: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    private static let codecs: [any PayloadCodec] = [
        CompactCodec(), CompactCodec(mode: .deterministic, usesDirectPath: false, namesFirst: true), JSONCodec(),
    ]

    /// A program that uses two kinds of container for one value traps in Foundation. Our codecs throw.
    @Test func `Every small program of containers gives the same result as Foundation's JSON encoder`() throws {
        var (compared, refused) = (0, 0)
        for program in CodableProgram.all {
            guard Self.isRegular(program) else {
                for codec in Self.codecs where (try? codec.encode(program)) != nil {
                    Issue.record("\(codec.id) accepts two kinds of container: \(program)")
                }
                refused += 1
                continue
            }
            let json = Self.foundation
            let wanted = try JSONDecoder().decode([AnyValue].self, from: json.encode([program]))[0]
            for codec in Self.codecs {
                do {
                    let read = try codec.decode(AnyValue.self, from: codec.encode(program))
                    guard read != wanted else { continue }
                    Issue.record("\(codec.id): \(read) instead of \(wanted): \(program)")
                } catch let error as WireError where error.code == .encodingFailed && !(codec is CompactCodec) {
                    // Rejected, not lost.
                } catch {
                    Issue.record("\(codec.id): \(error): \(program)")
                }
            }
            compared += 1
        }
        #expect(compared > 5_000 && refused > 5_000, "\(compared) compared, \(refused) refused")
    }

    /// True if Foundation completes the program: an `EncodedShape` throws where Foundation would trap.
    private static func isRegular(_ program: CodableProgram) -> Bool {
        let rules = EncodedShape.Rules(depthMax: 100, isValue: { EncodedShape.isStandard($0) })
        return (try? EncodedShape.make(program, rules)) != nil
    }

    /// Foundation's encoder sometimes keeps half of such a value, under another key.
    @Test func `A value whose error is caught leaves nothing behind`() throws {
        for field in CodableProgram.leafFields {
            let whole = CodableProgram(calls: [.keyed([field])])
            for fields in [[.failing("b"), field], [field, .failing("b")], [field, .failing("a")]]
                as [[CodableProgram.Field]]
            {
                for codec in Self.codecs {
                    let program = CodableProgram(calls: [.keyed(fields)])
                    #expect(
                        try codec.decode(AnyValue.self, from: codec.encode(program))
                            == codec.decode(AnyValue.self, from: codec.encode(whole)), "\(codec.id): \(program)")
                }
            }
        }
    }

    @Test func `A subclass that writes a key of its base class again keeps its own value`() throws {
        for codec in Self.codecs {
            let read = try codec.decode(AnyValue.self, from: codec.encode(Derived()))
            #expect(read == .record(["value": .number(2), "other": .number(3)]), "\(codec.id)")
        }
    }

    @Test func `A value that a codec can't keep is refused, with its path`() throws {
        func expectRefusal(_ codec: any PayloadCodec, _ value: some Encodable, _ path: [String]) {
            let error = #expect(throws: WireError.self, "\(codec.id)") { try codec.encode(value) }
            #expect(error?.code == .encodingFailed && error?.path == path, "\(codec.id): \(String(describing: error))")
        }
        let link = URL(string: "page", relativeTo: URL(string: "https://example.org/base/"))
        expectRefusal(JSONCodec(), ["a": [Decimal(1), .nan]], ["a", "1"])
        expectRefusal(JSONCodec(), ["a": link], ["a"])
        expectRefusal(JSONCodec(), Nested<Int??>(value: .some(nil)), ["value"])
        expectRefusal(JSONCodec(), [Int??.some(nil)], ["0"])
        for codec in Self.codecs {
            expectRefusal(codec, [[Alike(number: 1): 1, Alike(number: 2): 2]], ["0", "same"])
        }
    }

    @Test("Every value of the zoo comes back as it was, or is refused", arguments: CodableZoo.specimens)
    func zoo(_ specimen: Specimen) throws {
        for codec in Self.codecs { try specimen.visit(KeptOrRefused(codec: codec)) }
    }
}

private struct KeptOrRefused: SpecimenVisitor {
    let codec: any PayloadCodec

    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
        let bytes: [UInt8]
        do { bytes = try codec.encode(value) } catch let error as WireError where error.code == .encodingFailed {
            #expect(!(codec is CompactCodec), "\(codec.id) keeps every value: \(error)")
            return
        }
        #expect(try codec.decode(Value.self, from: bytes) == value, "\(codec.id)")
    }
}

private class Base: Encodable {
    enum Keys: CodingKey { case value, other }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(1, forKey: .value)
    }
}

private final class Derived: Base {
    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(2, forKey: .value)
        try container.encode(3, forKey: .other)
    }
}

/// Keys that all have the same name.
private struct Alike: Codable, Hashable, CodingKeyRepresentable {
    var number: Int

    init(number: Int) { self.number = number }
    init?<Key: CodingKey>(codingKey: Key) { number = 0 }
    var codingKey: any CodingKey { AnyName("same") }
}
