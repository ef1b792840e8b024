import Foundation
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

/// Two versions of an app read each other's bytes, on either path.
@Suite struct CompactVersionTests {
    static let codecs = [CompactCodec(), CompactCodec(usesDirectPath: false)]

    struct Old: Codable, Equatable {
        var id = 1
        var name = "old"
    }

    struct New: Codable, Equatable {
        var tags = ["a", "old", "b"]
        var id = 1
        var leaf = Leaf()
        var name = "old"
        var note: String?
        var shapes = [Shape.circle(radius: 1)]
    }

    @Test func `Fields that a reader does not know are skipped`() throws {
        let bytes = try CompactCodec().encode([New(), New()])
        #expect(try CompactCodec().decode([Old].self, from: bytes) == [Old(), Old()])
    }

    @Test(arguments: [true, false]) func `A reader may continue after an error`(direct: Bool) throws {
        struct Tolerant: Decodable {
            var leaf: String?
            var shapes: [Leaf]?
            var tags: [Int]?
            var name: String
            var id: Int

            enum Keys: CodingKey { case tags, id, leaf, name, shapes }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                tags = try? container.decode([Int].self, forKey: .tags)
                leaf = try? container.decode(String.self, forKey: .leaf)
                shapes = try? container.decode([Leaf].self, forKey: .shapes)
                _ = try? container.decode(Double.self, forKey: .name)
                name = try container.decode(String.self, forKey: .name)
                id = try container.decode(Int.self, forKey: .id)
            }
        }
        let codec = CompactCodec(usesDirectPath: direct)
        for value in try codec.decode([Tolerant].self, from: codec.encode([New(), New()])) {
            #expect(value.leaf == nil && value.shapes == nil && value.tags == nil)
            #expect(value.name == "old" && value.id == 1)
        }
    }

    @Test func `An optional that the writer did not have is nil, and another field is an error that names it`() throws {
        struct WithOptional: Codable {
            var name: String
            var extra: Leaf?
        }
        struct WithMore: Codable {
            var name: String
            var extra: Leaf
        }
        let bytes = try CompactCodec().encode(Old())
        #expect(try CompactCodec().decode(WithOptional.self, from: bytes).extra == nil)
        let error = #expect(throws: WireError.self) { _ = try CompactCodec().decode(WithMore.self, from: bytes) }
        #expect(error?.code == .missingField)
        #expect(error?.message.contains("extra") == true)
    }

    @Test func `A wider or narrower integer is read as long as it fits`() throws {
        struct Narrow: Codable { var value: Int8 }
        struct Wide: Codable { var value: UInt64 }
        struct Real: Codable { var value: Double }
        let codec = CompactCodec()
        #expect(try codec.decode(Narrow.self, from: codec.encode(Wide(value: 100))).value == 100)
        #expect(try codec.decode(Wide.self, from: codec.encode(Narrow(value: 100))).value == 100)
        #expect(try codec.decode(Real.self, from: codec.encode(Narrow(value: -3))).value == -3)
        expect(.invalidValue) { _ = try codec.decode(Narrow.self, from: codec.encode(Wide(value: 128))) }
        expect(.invalidValue) { _ = try codec.decode(Wide.self, from: codec.encode(Narrow(value: -1))) }
        #expect(try codec.decode([Int].self, from: codec.encode([Int16(-5), 7])) == [-5, 7])
        #expect(try codec.decode([Int8].self, from: codec.encode([Int(-5), 7])) == [-5, 7])
        #expect(try codec.decode([Double].self, from: codec.encode([Float(0.5)])) == [0.5])
        #expect(try codec.decode(Data.self, from: codec.encode([Int(0), 255])) == Data([0, 255]))
    }

    enum OldEvent: Codable, Equatable { case pause(at: Date) }
    enum NewEvent: Codable, Equatable {
        case pause(at: Date)
        case swim(laps: Int)
    }

    @Test func `An added enum case is an error that names the case`() throws {
        let codec = CompactCodec()
        let bytes = try codec.encode([NewEvent.swim(laps: 2)])
        let error = #expect(throws: WireError.self) { _ = try codec.decode([OldEvent].self, from: bytes) }
        #expect(error?.code == .unknownCase)
        #expect(error?.message.contains("swim") == true)
        let known = try codec.encode([NewEvent.pause(at: SamplePayloads.start)])
        #expect(try codec.decode([OldEvent].self, from: known) == [.pause(at: SamplePayloads.start)])
    }

    @Test func `An added case on the direct path is named too, by name or number`() throws {
        enum Later: String, Codable { case running, swimming }
        let codec = CompactCodec()
        let error = #expect(throws: WireError.self) {
            _ = try codec.decode(SampleWorkout.Activity.self, from: codec.encode(Later.swimming))
        }
        #expect(error?.code == .unknownCase)
        #expect(error?.message.contains("swimming") == true)

        enum LaterEvent: Codable { case stretch(at: Date) }
        let named = #expect(throws: WireError.self) {
            _ = try codec.decode(SampleEvent.self, from: codec.encode(LaterEvent.stretch(at: SamplePayloads.start)))
        }
        #expect(named?.code == .unknownCase)
        #expect(named?.message.contains("stretch") == true)

        let numbered = #expect(throws: WireError.self) {
            _ = try codec.decode(SampleEvent.self, from: [4, 9 << 3 | 4, 0, 0])
        }
        #expect(numbered?.code == .unknownCase)
        #expect(numbered?.message.contains("9") == true)
    }
}

// MARK: - The direct path

/// The first version of a type, the next one, and a version that supports only Codable.
@Suite struct WireCodableTests {
    struct First: WireCodable, Codable, Equatable {
        var index = 7
        var note: String? = "note"

        enum WireKeys: Int, CodingKey {
            case index = 1
            case note
        }

        init() {}
        func encode(into fields: inout WireFieldWriter<WireKeys>) {
            fields.write(index, .index)
            fields.write(note, .note)
        }
        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
            index = try fields.read(.index)
            note = try fields.read(.note)
        }
    }

    struct Second: WireCodable, Codable, Equatable {
        var index = 7
        var added = [Leaf(), Leaf()]
        var note: String? = "note"
        var weight = 1.5
        var flags = [true, false]
        var names = ["note": 1]
        var far: UInt16 = 9

        enum WireKeys: Int, CodingKey {
            case index = 1
            case note
            case weight = 17
            case flags, names
            case far = 3000
        }

        init() {}
        func encode(into fields: inout WireFieldWriter<WireKeys>) {
            fields.write(index, .index)
            fields.write(note, .note)
            fields.write(weight, .weight)
            fields.write(flags, .flags)
            fields.write(names, .names)
            fields.write(far, .far)
        }
        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
            index = try fields.read(.index)
            note = try fields.read(.note)
            weight = try fields.read(.weight, default: 1.5)
            flags = try fields.read(.flags, default: [true, false])
            names = try fields.read(.names, default: ["note": 1])
            far = try fields.read(.far, default: 9)
        }
    }

    @Test func `Versions with more or fewer fields read one another`() throws {
        let codec = CompactCodec()
        #expect(try codec.decode([First].self, from: codec.encode([Second(), Second()])) == [First(), First()])
        #expect(try codec.decode([Second].self, from: codec.encode([First(), First()])) == [Second(), Second()])
    }

    @Test func `A direct reader takes what Codable wrote, field by name`() throws {
        let named = CompactCodec(usesDirectPath: false)
        let codec = CompactCodec()
        #expect(try codec.decode([First].self, from: named.encode([First(), First()])) == [First(), First()])
        #expect(try codec.decode(Second.self, from: named.encode(Second())) == Second())
        let workout = SamplePayloads.workout()
        #expect(try codec.decode(SampleWorkout.self, from: named.encode(workout)) == workout)
        #expect(try named.decode(SampleWorkout.self, from: codec.encode(workout)) == workout)
    }

    @Test func `A Codable reader with integer coding keys takes what the direct path wrote`() throws {
        struct ByNumber: Codable, Equatable {
            var note: String?
            var index: Int
            var missing: Int?

            enum CodingKeys: Int, CodingKey {
                case note = 2
                case index = 1
                case missing = 9
            }
        }
        let codec = CompactCodec()
        let expected = ByNumber(note: "note", index: 7)
        #expect(try codec.decode(ByNumber.self, from: codec.encode(First())) == expected)
        #expect(try codec.decode([ByNumber].self, from: codec.encode([Second(), Second()])) == [expected, expected])
    }

    @Test func `Fields may be read in any order`() throws {
        struct Backwards: WireCodable, Codable, Equatable {
            var index = 7
            var note: String? = "note"

            enum WireKeys: Int, CodingKey {
                case index = 1
                case note
            }

            init() {}
            func encode(into fields: inout WireFieldWriter<WireKeys>) {}
            init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
                note = try fields.read(.note)
                index = try fields.read(.index)
            }
        }
        for codec in CompactVersionTests.codecs {
            #expect(try CompactCodec().decode(Backwards.self, from: codec.encode(Second())) == Backwards())
        }
    }

    @Test func `The direct form without looking for it gives the same bytes`() throws {
        let codec = CompactCodec()
        let workout = SamplePayloads.workout()
        let bytes = try codec.encode(direct: workout)
        #expect(try codec.encode(workout) == bytes)
        #expect(try bytes.withUnsafeBytes { try codec.decode(direct: SampleWorkout.self, from: $0) } == workout)
    }

    @Test func `A direct type inside a Codable one takes the direct path`() throws {
        let codec = CompactCodec()
        let inside = try codec.encode(Nested(value: SamplePayloads.metrics()))
        #expect(!String(decoding: inside, as: UTF8.self).contains("heartRate"))
        #expect(try codec.decode(Nested<SampleMetrics>.self, from: inside).value == SamplePayloads.metrics())
    }

    @Test func `The layout of a field writer is that of a writer`() {
        #expect(MemoryLayout<WireFieldWriter<First.WireKeys>>.size == MemoryLayout<CompactWriter>.size)
        #expect(MemoryLayout<WireFieldReader<First.WireKeys>>.size == MemoryLayout<CompactReader>.size)
    }

    @Test func `The bytes are those of the documentation`() throws {
        #expect(
            try CompactCodec().encode(First()) == [4, 1 << 3, 14, 2 << 3 | 2, 4] + Array("note".utf8) + [0])
        #expect(
            try CompactCodec(usesDirectPath: false).encode(First())
                == [5, 1, 5] + Array("index".utf8) + [1 << 3, 14, 1, 4] + Array("note".utf8) + [2 << 3 | 2, 4]
                + Array("note".utf8) + [0])
    }
}
