import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

/// Shortcuts of the direct path: heads of two bytes, absent fields, repeated strings and repeated cases.
@Suite struct DirectRecordTests {
    private enum Color: String, CaseIterable, Codable, WireValue { case red, green, blue, transparent }
    private enum Light: String, CaseIterable, Codable, WireValue { case red, amber, green }

    /// More fields than one byte can number, some of them absent.
    private struct Wide: Codable, Equatable, WireCodable {
        enum WireKeys: Int, CodingKey {
            case first = 1
            case second = 14
            case third, fourth, fifth
            case flag = 127
            case name = 128
            case last = 5000
        }

        var first: Int?
        var second: Double?
        var third: Date?
        var fourth: String?
        var fifth: UUID?
        var flag: Bool
        var name: String
        var last: Int?

        init(_ bits: Int) {
            let has = { (bit: Int) in bits >> bit & 1 == 1 }
            first = has(0) ? -5 : nil
            second = has(1) ? 1.5 : nil
            third = has(2) ? Date(timeIntervalSinceReferenceDate: 7) : nil
            fourth = has(3) ? "name of a field" : nil
            fifth = has(4) ? UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)) : nil
            flag = has(5)
            name = has(6) ? "name of a field" : "é"
            last = has(7) ? .max : nil
        }

        func encode(into fields: inout WireFieldWriter<WireKeys>) {
            fields.write(first, .first)
            fields.write(second, .second)
            fields.write(third, .third)
            fields.write(fourth, .fourth)
            fields.write(fifth, .fifth)
            fields.write(flag, .flag)
            fields.write(name, .name)
            fields.write(last, .last)
        }

        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
            first = try fields.read(.first)
            second = try fields.read(.second)
            third = try fields.read(.third)
            fourth = try fields.read(.fourth)
            fifth = try fields.read(.fifth)
            flag = try fields.read(.flag)
            name = try fields.read(.name)
            last = try fields.read(.last)
        }
    }

    /// The fields of `Wide`, read from the last to the first.
    private struct Backwards: WireCodable {
        var wide = Wide(0)

        func encode(into fields: inout WireFieldWriter<Wide.WireKeys>) {}

        init(from fields: inout WireFieldReader<Wide.WireKeys>) throws(WireError) {
            wide.last = try fields.read(.last)
            wide.name = try fields.read(.name)
            wide.flag = try fields.read(.flag)
            wide.fifth = try fields.read(.fifth)
            wide.fourth = try fields.read(.fourth)
            wide.third = try fields.read(.third)
            wide.second = try fields.read(.second)
            wide.first = try fields.read(.first)
        }
    }

    @Test func `Any fields may be absent, and they may be read in any order`() throws {
        let values = (0..<256).map(Wide.init)
        let bytes = try CompactCodec().encode(direct: values)
        #expect(try decode([Wide].self, bytes) == values)
        #expect(try decode([Backwards].self, bytes).map(\.wide) == values)
        let named = try CompactCodec(usesDirectPath: false).encode(values)
        #expect(try CompactCodec().decode([Wide].self, from: named) == values)
    }

    @Test func `A record cut at any place is an error`() throws {
        let bytes = try CompactCodec().encode(direct: [Wide(255), Wide(0)])
        for count in bytes.indices {
            #expect(throws: WireError.self) { try decode([Wide].self, Array(bytes.prefix(count))) }
        }
    }

    @Test func `Enums that share a text keep their own cases, and so do strings`() throws {
        let colors = (0..<40).map { Color.allCases[$0 * 7 % 4] }
        let lights = (0..<40).map { Light.allCases[$0 * 5 % 3] }
        let texts = (0..<40).map { ["red", "green", "amber", "no case", "ab", ""][$0 % 6] }
        let codec = CompactCodec(mode: .deterministic)
        let first = try codec.encode(direct: colors) + codec.encode(direct: lights) + codec.encode(direct: texts)
        let second = try codec.encode(direct: colors) + codec.encode(direct: lights) + codec.encode(direct: texts)
        #expect(first == second)

        let mixed = zip(colors, zip(lights, texts)).map { Mixed(color: $0, text: $1.1, light: $1.0) }
        let bytes = try CompactCodec().encode(direct: mixed)
        #expect(try decode([Mixed].self, bytes) == mixed)
        // Each text is written once: all but the first few elements take only their heads and numbers.
        let more = try CompactCodec().encode(direct: mixed + mixed)
        #expect(more.count - bytes.count <= 12 * mixed.count + 1)
        #expect(try codec.encode(mixed) == CompactCodec(mode: .deterministic).encode(direct: mixed))
    }

    private struct Mixed: Codable, Equatable, WireCodable {
        enum WireKeys: Int, CodingKey {
            case color = 1
            case text, light
        }

        var color: Color
        var text: String
        var light: Light

        init(color: Color, text: String, light: Light) { (self.color, self.text, self.light) = (color, text, light) }

        func encode(into fields: inout WireFieldWriter<WireKeys>) {
            fields.write(color, .color)
            fields.write(text, .text)
            fields.write(light, .light)
        }

        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
            color = try fields.read(.color)
            text = try fields.read(.text)
            light = try fields.read(.light)
        }
    }

    @Test func `A case that a reader lacks is an error each time, and skipped texts can be repeated`() throws {
        let texts = ["transparent", "transparent", "red"]
        let bytes = try CompactCodec().encode(direct: texts)
        #expect(try decode([Color].self, bytes).count == 3)
        let error = #expect(throws: WireError.self) { try decode([Light].self, bytes) }
        #expect(error?.code == .unknownCase)

        let mixed = [Mixed(color: .red, text: "amber", light: .amber), Mixed(color: .blue, text: "blue", light: .red)]
        let encoded = try CompactCodec().encode(direct: mixed)
        let lights = try decode([LightOnly].self, encoded)
        #expect(lights.map(\.light) == [.amber, .red])
    }

    /// Skips the fields that contain the texts for the first time.
    private struct LightOnly: WireCodable {
        let light: Light

        func encode(into fields: inout WireFieldWriter<Mixed.WireKeys>) { fields.write(light, .light) }
        init(from fields: inout WireFieldReader<Mixed.WireKeys>) throws(WireError) { light = try fields.read(.light) }
    }

    @Test func `A type that continues after an invalid text still finds the later ones`() throws {
        var bytes = try CompactCodec(usesDirectPath: false).encode(["abcd", "later", "later"])
        let place = try #require(bytes.firstIndex(of: UInt8(ascii: "a")))
        bytes[place] = 0xFF
        struct Tolerant: Decodable {
            var texts: [String?] = []

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                let broken = try? container.decode(String.self)
                if broken == nil, container.currentIndex == 0 { _ = try container.decode(Anything.self) }
                texts = [broken, try container.decode(String.self), try container.decode(String.self)]
            }
        }
        struct Anything: Decodable { init(from decoder: any Decoder) throws {} }
        #expect(try CompactCodec().decode(Tolerant.self, from: bytes).texts == [nil, "later", "later"])
    }

    @Test func `Variable-length integers of every length read the same with and without bytes behind them`() throws {
        for bits in 0...64 {
            for delta in [-1, 0, 1] as [Int64] {
                let value = (bits == 64 ? 0 : 1 << UInt64(bits)) &+ UInt64(bitPattern: delta)
                var writer = WireWriter()
                writer.writeVarint(value)
                let plain = writer.array()
                for padded in [plain, plain + [0x80], plain + [UInt8](repeating: 0xFF, count: 9)] {
                    let read = try readVarint(padded)
                    #expect(read.value == value)
                    #expect(read.remaining == padded.count - plain.count)
                }
                // A longer encoding of the same number, as another implementation may write it.
                guard plain.count < 9 else { continue }
                let long = plain.dropLast() + [plain[plain.count - 1] | 0x80, 0x80, 0]
                for padded in [Array(long), long + [UInt8](repeating: 1, count: 9)] where long.count <= 10 {
                    let read = try readVarint(padded)
                    #expect(read.value == value)
                    #expect(read.remaining == padded.count - long.count)
                }
            }
        }
        #expect(throws: WireError.self) { try readVarint([UInt8](repeating: 0xFF, count: 12)) }
    }

    /// A record, or a plain number in its place, as an older version wrote it.
    private struct Marker: Equatable, WireCodable {
        enum WireKeys: Int, CodingKey { case place = 1 }

        var place: Int

        func write(to writer: inout CompactWriter, as head: WireHead) { place.write(to: &writer, as: head) }

        func encode(into fields: inout WireFieldWriter<WireKeys>) { fields.write(place, .place) }

        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) { place = try fields.read(.place) }

        init(wire kind: WireKind, from reader: inout CompactReader) throws(WireError) {
            place = try Int(wire: kind, from: &reader)
        }

        init(place: Int) { self.place = place }
    }

    @Test func `A list of a type with another form than a record is read element by element`() throws {
        let numbers = (0..<3).map(Marker.init)
        #expect(try decode([Marker].self, CompactCodec().encode(direct: numbers)) == numbers)
    }

    private func decode<Value: WireValue>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
        try bytes.withUnsafeBytes { try CompactCodec().decode(direct: type, from: $0) }
    }

    private func readVarint(_ bytes: [UInt8]) throws -> (value: UInt64, remaining: Int) {
        try bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            let value = try reader.readVarint()
            return (value, reader.remaining)
        }
    }
}
