import MeshWire

/// Samples as columns: for each a time in microseconds since 1970, and 64 bits for each of its numbers.
package struct SampleTable: Hashable, Sendable {
    package let columns: [SeriesColumn]
    package private(set) var times: [Int64] = []
    /// By column. What is absent repeats the number before it.
    package private(set) var cells: [[UInt64]]
    /// For each sample the columns that are present, the first in the lowest bit.
    package private(set) var presences: [UInt64] = []

    package init(columns: [SeriesColumn]) {
        self.columns = columns
        cells = Array(repeating: [], count: columns.count)
    }

    /// - Parameters: as many times and presences as each column has numbers.
    init(columns: [SeriesColumn], times: [Int64], cells: [[UInt64]], presences: [UInt64]) {
        self.columns = columns
        self.times = times
        self.cells = cells
        self.presences = presences
    }

    package var count: Int { times.count }
    package var isEmpty: Bool { times.isEmpty }

    /// All columns present.
    var wholePresence: UInt64 { columns.count == 64 ? .max : (1 << UInt64(columns.count)) - 1 }

    /// - Parameter row: has these columns.
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
    /// By column.
    package var bits: [UInt64] = []
    /// The columns that are present, the first in the lowest bit.
    package var presence: UInt64 = 0
}
