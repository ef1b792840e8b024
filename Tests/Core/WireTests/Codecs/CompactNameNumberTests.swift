import MeshIdentity
import Testing

@testable import MeshWire

/// Names get numbers in the order of their first use. Numbers below 16, 2,048 and 4,097 have heads of different lengths,
/// numbers below 64 and 256 are checked in different ways for repetition, and names after the 4,096th have none.
@Suite struct CompactNameNumberTests {
    private static let codecs: [CompactCodec] = [false, true].flatMap { usesDirectPath in
        [CompactCodec.Mode.fast, .deterministic].flatMap { mode in
            [false, true].map { CompactCodec(mode: mode, usesDirectPath: usesDirectPath, namesFirst: $0) }
        }
    }

    @Test(arguments: [0...20, 54...70, 246...262, 2036...2054, 4084...4102, 5000...5000])
    func `Records beside a dictionary with any number of keys come back`(counts: ClosedRange<Int>) throws {
        for count in counts {
            let value = Table(
                counts: Dictionary(uniqueKeysWithValues: (0..<count).map { ("key \($0)", $0) }),
                after: [.init(x: 5, y: 6, isSwapped: true), .init(x: 7, y: 8), .init(x: 9, y: 10, isSwapped: true)],
                wide: [.init(a: 1, b: 2, c: 3), .init(a: 4, b: 5, c: 6), .init(a: 7, b: 8, c: 9)], name: "table")
            for codec in Self.codecs {
                let bytes = try codec.encode(value)
                #expect(try codec.decode(Table.self, from: bytes) == value, "\(count) keys, \(codec)")
            }
        }
    }

    @Test(arguments: [60, 300, 4100])
    func `A key that is encoded twice keeps its last value`(count: Int) throws {
        let value = Twice(counts: Dictionary(uniqueKeysWithValues: (0..<count).map { ("key \($0)", $0) }))
        for codec in Self.codecs {
            let bytes = try codec.encode(value)
            #expect(try codec.decode(Twice.self, from: bytes).last == 2, "\(count) keys, \(codec)")
        }
    }
}

private struct Table: Codable, Equatable {
    struct Row: Codable, Equatable {
        enum CodingKeys: CodingKey { case x, y }
        var x: Int
        var y: Int
        /// True if the fields are written in the opposite order.
        var isSwapped = false

        init(x: Int, y: Int, isSwapped: Bool = false) { (self.x, self.y, self.isSwapped) = (x, y, isSwapped) }

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            (x, y) = (try fields.decode(Int.self, forKey: .x), try fields.decode(Int.self, forKey: .y))
        }

        func encode(to encoder: any Encoder) throws {
            var fields = encoder.container(keyedBy: CodingKeys.self)
            if isSwapped { try fields.encode(y, forKey: .y) }
            try fields.encode(x, forKey: .x)
            if !isSwapped { try fields.encode(y, forKey: .y) }
        }

        static func == (left: Row, right: Row) -> Bool { left.x == right.x && left.y == right.y }
    }

    struct Wide: Codable, Equatable {
        var a: Int
        var b: Int
        var c: Int
    }

    var counts: [String: Int]
    var after: [Row]
    var wide: [Wide]
    var name: String
}

private struct Twice: Codable {
    enum CodingKeys: CodingKey { case counts, last }
    var counts: [String: Int]
    var last = 0

    init(counts: [String: Int]) { self.counts = counts }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(counts, forKey: .counts)
        try fields.encode(1, forKey: .last)
        try fields.encode(2, forKey: .last)
    }
}
