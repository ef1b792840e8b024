import Foundation

/// The object that `--json` prints on one line. Not an array, so that fields can be added.
package struct Report<Row: Encodable>: Encodable {
    let rows: [Row]

    package init(rows: [Row]) { self.rows = rows }
}

extension Encodable {
    /// Returns one line of JSON with sorted keys and ISO 8601 dates.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
