import MeshWire

/// Samples by column. Each sample has a time in microseconds since 1970, and 64 bits for each number.
package struct SampleTable: Hashable, Sendable {
    package let columns: [SeriesColumn]
    package private(set) var times: [Int64] = []
    /// Numbers by column. An absent number repeats the previous one, which compresses well.
    package private(set) var cells: [[UInt64]]
    /// The columns present in each sample, as a bit set. The lowest bit is the first column.
    package private(set) var presences: [UInt64] = []

    package init(columns: [SeriesColumn]) {
        self.columns = columns
        cells = Array(repeating: [], count: columns.count)
    }

    /// - Precondition: Each column has as many numbers as there are times and presences.
    init(columns: [SeriesColumn], times: [Int64], cells: [[UInt64]], presences: [UInt64]) {
        self.columns = columns
        self.times = times
        self.cells = cells
        self.presences = presences
    }

    package var count: Int { times.count }
    package var isEmpty: Bool { times.isEmpty }

    /// The bit set of all columns.
    var wholePresence: UInt64 { columns.count == 64 ? .max : (1 << UInt64(columns.count)) - 1 }

    /// - Parameter row: a row with the same columns.
    package mutating func append(_ row: SampleRow, at time: Int64) {
        times.append(time)
        presences.append(row.presence)
        for column in columns.indices {
            let isPresent = row.presence >> UInt64(column) & 1 == 1
            cells[column].append(isPresent ? row.bits[column] : cells[column].last ?? 0)
        }
    }

    package mutating func append(contentsOf other: SampleTable) {
        times += other.times
        presences += other.presences
        for column in columns.indices { cells[column] += other.cells[column] }
    }

    package subscript(range: Range<Int>) -> SampleTable {
        SampleTable(
            columns: columns, times: Array(times[range]), cells: cells.map { Array($0[range]) },
            presences: Array(presences[range]))
    }

    package mutating func removeFirst(_ count: Int) {
        times.removeFirst(count)
        presences.removeFirst(count)
        for column in cells.indices { cells[column].removeFirst(count) }
    }

    package mutating func removeAll() { self = SampleTable(columns: columns) }
}

/// One sample's numbers.
package struct SampleRow: Sendable {
    package var columns: [SeriesColumn]
    /// The numbers by column.
    package var bits: [UInt64] = []
    /// The columns present, as a bit set. The lowest bit is the first column.
    package var presence: UInt64 = 0
}
