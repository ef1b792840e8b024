public import Foundation

/// The number of samples, and the sum, minimum, maximum and last value of each numeric field.
///
/// Devices that hold the same samples compute the same summary, to the bit: sums are taken in the order of recording, block by
/// block. Devices may hold different samples at any moment, so a reducer must not read a summary. Submit it in an event:
/// `try session.submit(.lap(session.summary(of: .track)))`.
public struct SeriesSummary: Hashable, Sendable, Codable {
    /// The summary of one numeric field.
    public struct Column: Hashable, Sendable, Codable {
        /// The number of samples in which the field is present.
        public var count = 0
        /// The sum of all values.
        public var sum = 0.0
        /// The least value; NaN if there is none.
        public var minimum = Double.nan
        /// The greatest value; NaN if there is none.
        public var maximum = Double.nan
        /// The value in the latest sample; NaN if there is none.
        public var last = Double.nan

        /// Creates a column of no samples.
        public init() {}

        /// The mean of all values; NaN if there is none.
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
    /// The numeric fields by name. Dots join the names of nested fields.
    public var columns: [String: Column] = [:]

    /// Creates a summary of no samples.
    public init() {}

    /// Returns the summary of a field; an empty one if no sample has the field.
    public subscript(_ field: String) -> Column { columns[field] ?? Column() }

    package mutating func add(_ other: SeriesSummary) {
        count += other.count
        earliest = [earliest, other.earliest].compactMap { $0 }.min()
        latest = [latest, other.latest].compactMap { $0 }.max()
        for (name, column) in other.columns { columns[name, default: Column()].add(column) }
    }
}

/// A summary by column, as stored for each block.
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
