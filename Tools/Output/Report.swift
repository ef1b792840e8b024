import Foundation

/// What `--json` prints: an object, so that it can grow.
package struct Report<Row: Encodable>: Encodable {
    let rows: [Row]

    package init(rows: [Row]) { self.rows = rows }
}

extension Encodable {
    /// Keys sorted, two spaces of indentation.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
