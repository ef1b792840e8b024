import Foundation
import MeshIdentity
import MeshWire

struct GoldenScalars: WireCodable, Codable, Equatable, Sendable {
    var yes = true
    var no = false
    var text = "Grüße, 世界"
    var double = -273.15
    var float: Float = 1.5
    var id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255))
    var date = Date(timeIntervalSinceReferenceDate: 785_412_345.678912)
    var data = Data([0, 1, 127, 128, 255])
    var byte: UInt8 = 255
    var number = -1_000_000

    enum WireKeys: Int, CodingKey, CaseIterable {
        case yes = 1
        case no, text, double, float, id, date, data, byte
        case number = 300
    }

    init() {}

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(yes, .yes)
        fields.write(no, .no)
        fields.write(text, .text)
        fields.write(double, .double)
        fields.write(float, .float)
        fields.write(id, .id)
        fields.write(date, .date)
        fields.write(data, .data)
        fields.write(byte, .byte)
        fields.write(number, .number)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        yes = try fields.read(.yes)
        no = try fields.read(.no)
        text = try fields.read(.text)
        double = try fields.read(.double)
        float = try fields.read(.float)
        id = try fields.read(.id)
        date = try fields.read(.date)
        data = try fields.read(.data)
        byte = try fields.read(.byte)
        number = try fields.read(.number)
    }
}

/// The minimum or the maximum of every width.
struct GoldenIntegers: WireCodable, Codable, Equatable, Sendable {
    var int8: Int8 = .min
    var int16: Int16 = .min
    var int32: Int32 = .min
    var int64: Int64 = .min
    var uint8: UInt8 = .max
    var uint16: UInt16 = .max
    var uint32: UInt32 = .max
    var uint64: UInt64 = .max
    var int = 63
    var uint: UInt = 64

    enum WireKeys: Int, CodingKey, CaseIterable {
        case int8 = 1
        case int16, int32, int64, uint8, uint16, uint32, uint64, int, uint
    }

    init() {}

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(int8, .int8)
        fields.write(int16, .int16)
        fields.write(int32, .int32)
        fields.write(int64, .int64)
        fields.write(uint8, .uint8)
        fields.write(uint16, .uint16)
        fields.write(uint32, .uint32)
        fields.write(uint64, .uint64)
        fields.write(int, .int)
        fields.write(uint, .uint)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        int8 = try fields.read(.int8)
        int16 = try fields.read(.int16)
        int32 = try fields.read(.int32)
        int64 = try fields.read(.int64)
        uint8 = try fields.read(.uint8)
        uint16 = try fields.read(.uint16)
        uint32 = try fields.read(.uint32)
        uint64 = try fields.read(.uint64)
        int = try fields.read(.int)
        uint = try fields.read(.uint)
    }
}

/// Foundation types that don't use the direct path.
struct GoldenFoundation: Codable, Equatable, Sendable {
    var url = URL(string: "https://example.org/a?b=c#d")
    var amounts = [Decimal(string: "273.15"), Decimal(string: "-0.00000000000000000001"), 1000]
    var infinity = Double.infinity
    var early = Date(timeIntervalSinceReferenceDate: -1e9)
    var none: URL?
}

struct GoldenBlocks: WireCodable, Codable, Equatable, Sendable {
    var doubles = [0, -0.5, 1e300]
    var floats: [Float] = [0.25, -1.5]
    var int8s: [Int8] = [-128, 127]
    var bytes: [UInt8] = [0, 255]
    var int16s: [Int16] = [-32768, 32767]
    var uint16s: [UInt16] = [0, 65535]
    var int32s: [Int32] = [.min, .max]
    var uint32s: [UInt32] = [0, .max]
    var ints: [Int64] = [.min, -1, .max]
    var uints: [UInt64] = [0, .max]
    var ids = [UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))]
    var dates = [Date(timeIntervalSinceReferenceDate: 0.5)]
    var none: [Double] = []

    enum WireKeys: Int, CodingKey, CaseIterable {
        case doubles = 1
        case floats, int8s, bytes, int16s, uint16s, int32s, uint32s, ints, uints, ids, dates, none
    }

    init() {}

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(doubles, .doubles)
        fields.write(floats, .floats)
        fields.write(int8s, .int8s)
        fields.write(bytes, .bytes)
        fields.write(int16s, .int16s)
        fields.write(uint16s, .uint16s)
        fields.write(int32s, .int32s)
        fields.write(uint32s, .uint32s)
        fields.write(ints, .ints)
        fields.write(uints, .uints)
        fields.write(ids, .ids)
        fields.write(dates, .dates)
        fields.write(none, .none)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        doubles = try fields.read(.doubles)
        floats = try fields.read(.floats)
        int8s = try fields.read(.int8s)
        bytes = try fields.read(.bytes)
        int16s = try fields.read(.int16s)
        uint16s = try fields.read(.uint16s)
        int32s = try fields.read(.int32s)
        uint32s = try fields.read(.uint32s)
        ints = try fields.read(.ints)
        uints = try fields.read(.uints)
        ids = try fields.read(.ids)
        dates = try fields.read(.dates)
        none = try fields.read(.none)
    }
}

struct GoldenOptionals: WireCodable, Codable, Equatable, Sendable {
    var there: Int? = 7
    var missing: Int?
    var text: String? = "text"
    var list: [Double?] = [nil, 1.5]

    enum WireKeys: Int, CodingKey, CaseIterable {
        case there = 1
        case missing, text, list
    }

    init() {}

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(there, .there)
        fields.write(missing, .missing)
        fields.write(text, .text)
        fields.write(list, .list)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        there = try fields.read(.there)
        missing = try fields.read(.missing)
        text = try fields.read(.text)
        list = try fields.read(.list)
    }
}

/// A record in a record, with names and strings that repeat.
struct GoldenRecord: WireCodable, Codable, Equatable, Sendable {
    struct Inner: WireCodable, Codable, Equatable, Sendable {
        var kind = "running"

        enum WireKeys: Int, CodingKey { case kind = 2 }

        init() {}
        func encode(into fields: inout WireFieldWriter<WireKeys>) { fields.write(kind, .kind) }
        init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) { kind = try fields.read(.kind) }
    }

    var inner = Inner()
    var title = "running"

    enum WireKeys: Int, CodingKey {
        case inner = 1
        case title = 16
    }
    static let numbers = ["inner": 1, "title": 16, "kind": 2]

    init() {}

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(inner, .inner)
        fields.write(title, .title)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        inner = try fields.read(.inner)
        title = try fields.read(.title)
    }
}

/// Every kind of container that an `encode(to:)` may request.
struct GoldenContainers: Codable, Equatable, Sendable {
    enum Keys: String, CodingKey { case record, list, leaf, own, single }

    var number = 41
    var leaf = Leaf()

    init() {}

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keys.self)
        var record = fields.nestedContainer(keyedBy: Keys.self, forKey: .record)
        try record.encode(number, forKey: .single)
        var list = fields.nestedUnkeyedContainer(forKey: .list)
        try list.encode(number)
        var inner = list.nestedContainer(keyedBy: Keys.self)
        try inner.encode(leaf, forKey: .leaf)
        var innerList = list.nestedUnkeyedContainer()
        try innerList.encode("inner")
        try leaf.encode(to: list.superEncoder())
        var single = fields.superEncoder(forKey: .single).singleValueContainer()
        try single.encode(number)
        try leaf.encode(to: fields.superEncoder())
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Keys.self)
        number = try fields.nestedContainer(keyedBy: Keys.self, forKey: .record).decode(Int.self, forKey: .single)
        var list = try fields.nestedUnkeyedContainer(forKey: .list)
        let first = try list.decode(Int.self)
        leaf = try list.nestedContainer(keyedBy: Keys.self).decode(Leaf.self, forKey: .leaf)
        var innerList = try list.nestedUnkeyedContainer()
        let text = try innerList.decode(String.self)
        let third = try Leaf(from: list.superDecoder())
        let single = try fields.superDecoder(forKey: .single).singleValueContainer().decode(Int.self)
        let parent = try Leaf(from: fields.superDecoder())
        guard first == number, single == number, text == "inner", third == leaf, parent == leaf else {
            throw WireError(.invalidValue, "the containers differ")
        }
    }
}
