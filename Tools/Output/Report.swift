import Foundation

/// The object that `--json` prints, on one line. It is no array, so that it can grow.
package struct Report<Row: Encodable>: Encodable {
    let rows: [Row]

    package init(rows: [Row]) { self.rows = rows }
}

extension Encodable {
    /// One line of JSON: keys sorted, dates as ISO 8601.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
