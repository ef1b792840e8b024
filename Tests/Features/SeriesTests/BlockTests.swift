import Foundation
import MeshBase
import MeshWire
import Testing

@testable import MeshSeries

/// Blocks of series, as bytes.
@Suite struct BlockTests {
    private static let kinds: [SeriesColumn.Kind] = [.integer, .unsigned, .float, .bool, .date]

    /// Columns of every kind and pattern: constant, walking, jumping, extreme, absent.
    private func table(seed: UInt64) -> SampleTable {
        var random = SplitMix64(seed: seed)
        let columns = (0..<Int.random(in: 1...6, using: &random)).map { index in
            SeriesColumn(name: "c\(index)", kind: Self.kinds[Int.random(in: 0..<5, using: &random)])
        }
        var table = SampleTable(columns: columns)
        let characters = columns.map { _ in Int.random(in: 0..<7, using: &random) }
        var walks = columns.map { _ in Int64.random(in: -1_000_000...1_000_000, using: &random) }
        var time = Int64.random(in: -SampleTime.max / 2...SampleTime.max / 2, using: &random)
        let unit: Int64 = [1, 1000, 1_000_000][Int.random(in: 0..<3, using: &random)]
        time -= time % unit
        let isSparse = Bool.random(using: &random)
        let count =
            [1, 2, 3, 64, 65, 66, 1024, Int.random(in: 1...1024, using: &random)].randomElement(using: &random) ?? 1
        for _ in 0..<count {
            var row = SampleRow(columns: columns)
            for (index, column) in columns.enumerated() {
                walks[index] &+= Int64.random(in: -20...20, using: &random)
                row.bits.append(bits(column.kind, characters[index], walks[index], &random))
                if !isSparse || Int.random(in: 0..<3, using: &random) > 0 { row.presence |= 1 << UInt64(index) }
            }
            table.append(row, at: time)
            time += unit * Int64.random(in: -2...5, using: &random)
        }
        return table
    }

    private func bits(
        _ kind: SeriesColumn.Kind, _ character: Int, _ walk: Int64, _ random: inout SplitMix64
    ) -> UInt64 {
        switch (kind, character) {
        case (.bool, _): UInt64.random(in: 0...1, using: &random)
        case (_, 0): 7
        case (_, 1): random.next()
        case (.float, 2), (.date, 2): (Double(walk) / 1000).bitPattern
        case (.float, 3), (.date, 3): Double(Float(walk) / 3).bitPattern
        case (.float, 4), (.date, 4): (Double(walk) / 7).bitPattern
        case (.float, 5), (.date, 5):
            [Double.nan, -.infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e15, 0.1]
                .randomElement(using: &random)?.bitPattern ?? 0
        case (_, 5): [UInt64.max, 0, 1 << 63, 1].randomElement(using: &random) ?? 0
        default: UInt64(bitPattern: walk)
        }
    }

    @Test(arguments: 0..<400 as Range<UInt64>)
    func `Written samples are read back to the bit, however they are split`(seed: UInt64) throws {
        let table = table(seed: seed)
        let bytes = SeriesBlock.bytes(of: table)
        #expect(bytes.count <= SeriesLimits.blockBytesMax)
        #expect(try SeriesBlock.table(from: bytes, columns: table.columns) == table, "seed \(seed)")
        let middle = table.count / 2
        guard middle > 0 else { return }
        let parts = [table[0..<middle], table[middle..<table.count]]
        var joined = SampleTable(columns: table.columns)
        for part in parts {
            joined.append(contentsOf: try SeriesBlock.table(from: SeriesBlock.bytes(of: part), columns: table.columns))
        }
        #expect(joined == table, "seed \(seed)")
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func `Cut or changed bytes are rejected or decode to other samples, never to more of them`(seed: UInt64) {
        let table = table(seed: seed)
        let bytes = SeriesBlock.bytes(of: table)
        var random = SplitMix64(seed: seed &+ 1)
        for end in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 64)) {
            #expect(throws: WireError.self, "seed \(seed), \(end) bytes") {
                try SeriesBlock.table(from: Array(bytes[..<end]), columns: table.columns)
            }
        }
        for _ in 0..<200 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let other = try? SeriesBlock.table(from: changed, columns: table.columns) else { continue }
            #expect(other.count <= SeriesLimits.blockSamples && other.cells.allSatisfy { $0.count == other.count })
            // A table that can be read can be written again.
            #expect((try? SeriesBlock.table(from: SeriesBlock.bytes(of: other), columns: table.columns)) == other)
        }
    }

    @Test func `Random bytes aren't a block`() {
        var random = SplitMix64(seed: 1)
        let columns = [SeriesColumn(name: "a", kind: .integer), SeriesColumn(name: "b", kind: .float)]
        for count in 0..<2000 {
            let bytes = (0..<count % 97).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = try? SeriesBlock.table(from: bytes, columns: columns)
        }
        #expect(throws: WireError.self) { try SeriesBlock.table(from: [], columns: columns) }
        let stated = [UInt8](repeating: 0xFF, count: 9) + [1]
        #expect(throws: WireError.self) { try SeriesBlock.table(from: stated, columns: columns) }
    }

    /// A workout's samples, once a second: a pulse that changes by one, and a location with seven decimals.
    @Test func `A second of a workout takes a few bytes`() {
        let columns = [
            SeriesColumn(name: "rate", kind: .integer), SeriesColumn(name: "latitude", kind: .float),
            SeriesColumn(name: "longitude", kind: .float),
        ]
        var random = SplitMix64(seed: 5)
        var table = SampleTable(columns: columns)
        var (rate, latitude, longitude) = (120, 457_721_750, 143_576_592)
        for second in 0..<1024 {
            rate += Int.random(in: -1...1, using: &random)
            latitude += Int.random(in: 200...320, using: &random)
            longitude += Int.random(in: -60...60, using: &random)
            let bits = [
                UInt64(rate), (Double(latitude) / 1e7).bitPattern, (Double(longitude) / 1e7).bitPattern,
            ]
            table.append(SampleRow(columns: columns, bits: bits, presence: 7), at: Int64(second) * 1_000_000)
        }
        let bytes = SeriesBlock.bytes(of: table)
        #expect(bytes.count < 1024 * 3, "\(bytes.count) bytes")
    }
}
