public import Foundation

/// The number of samples, and for each of their numeric fields the sum, minimum, maximum and last value.
///
/// The same on every device that holds the same samples, to the bit: sums are taken in the order of recording, block by
/// block. As other devices hold other samples at other times, a reducer sees one only as part of an event, which carries it
/// to all: `try session.submit(.lap(session.summary(of: .track)))`.
public struct SeriesSummary: Hashable, Sendable, Codable {
    /// One number of all samples.
    public struct Column: Hashable, Sendable, Codable {
        /// The number of samples in which the field is present.
        public var count = 0
        /// The numbers added up.
        public var sum = 0.0
        /// NaN while there is none, as the two after it.
        public var minimum = Double.nan
        /// The greatest value; NaN if there is none.
        public var maximum = Double.nan
        /// The value in the latest sample; NaN if there is none.
        public var last = Double.nan

        /// Creates a column of no samples.
        public init() {}

        /// The sum by the count; NaN while there is none.
        public var mean: Double { sum / Double(count) }

        mutating func add(_ value: Double) {
            count += 1
            sum += value
            minimum = minimum <= value ? minimum : value
            maximum = maximum >= value ? maximum : value
            last = value
        }

        mutating func add(_ other: Column) {
            guard other.count > 0 else { return }
            count += other.count
            sum += other.sum
            minimum = minimum <= other.minimum ? minimum : other.minimum
            maximum = maximum >= other.maximum ? maximum : other.maximum
            last = other.last
        }
    }

    /// The number of samples.
    public var count = 0
    /// The moment of the earliest sample; nil while there is none.
    public var earliest: Date?
    /// The moment of the latest sample; nil while there is none.
    public var latest: Date?
    /// The numeric fields by name. Dots join the names of fields in nested structs.
    public var columns: [String: Column] = [:]

    /// Creates a summary of no samples.
    public init() {}

    /// One number of all samples; of a field that no sample has, the summary of nothing.
    public subscript(_ field: String) -> Column { columns[field] ?? Column() }

    package mutating func add(_ other: SeriesSummary) {
        count += other.count
        earliest = [earliest, other.earliest].compactMap { $0 }.min()
        latest = [latest, other.latest].compactMap { $0 }.max()
        for (name, column) in other.columns { columns[name, default: Column()].add(column) }
    }
}

/// The same by columns, as it is kept for each block.
struct BlockSummary: Hashable, Sendable, Codable {
    var count = 0
    var earliest = Int64.max
    var latest = Int64.min
    var columns: [SeriesSummary.Column]

    init(columnCount: Int) { columns = Array(repeating: SeriesSummary.Column(), count: columnCount) }

    init(_ table: SampleTable) {
        self.init(columnCount: table.columns.count)
        add(table)
    }

    mutating func add(_ table: SampleTable) {
        count += table.count
        earliest = min(earliest, table.times.min() ?? earliest)
        latest = max(latest, table.times.max() ?? latest)
        for (index, column) in table.columns.enumerated() {
            for (bits, presence) in zip(table.cells[index], table.presences) where presence >> UInt64(index) & 1 == 1 {
                columns[index].add(column.kind.number(bits))
            }
        }
    }

    mutating func add(_ other: BlockSummary) {
        count += other.count
        earliest = min(earliest, other.earliest)
        latest = max(latest, other.latest)
        for index in columns.indices where other.columns.indices.contains(index) {
            columns[index].add(other.columns[index])
        }
    }

    func named(_ names: [SeriesColumn]) -> SeriesSummary {
        var summary = SeriesSummary()
        summary.count = count
        guard count > 0 else { return summary }
        summary.earliest = SampleTime.date(earliest)
        summary.latest = SampleTime.date(latest)
        for (column, name) in zip(columns, names) { summary.columns[name.name] = column }
        return summary
    }
}

extension SeriesColumn.Kind {
    fileprivate func number(_ bits: UInt64) -> Double {
        switch self {
        case .integer: Double(Int64(bitPattern: bits))
        case .unsigned, .bool: Double(bits)
        case .float, .date: Double(bitPattern: bits)
        }
    }
}
