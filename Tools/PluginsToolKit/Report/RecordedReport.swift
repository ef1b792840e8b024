import Foundation
import MeshToolOutput

/// A report that this or another version of `bench --json` has printed.
struct RecordedReport: Decodable, Equatable {
    struct Row: Decodable, Equatable {
        /// Texts by field name.
        var labels: [String: String] = [:]
        /// Numbers by field name. A field with values by name has each under `field.name`. Flags are 0 and 1.
        var figures: [String: Double] = [:]
        /// The fields that can't vary from run to run: flags, and values by name.
        var exact: Set<String> = []
    }

    let rows: [Row]
    let runs: [[Row]]?

    private static let bytesMax = 64 << 20

    /// - Throws: `ToolError` if the file isn't a report.
    init(path: String) throws(ToolError) {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw ToolError("'\(path)' can't be read; name a file that `bench --json` has written")
        }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: Self.bytesMax + 1), data.count <= Self.bytesMax,
            let report = try? JSONDecoder().decode(RecordedReport.self, from: data),
            report.runs?.allSatisfy({ $0.count == report.rows.count }) ?? true
        else { throw ToolError("'\(path)' isn't a report; make one with `bench --json > FILE`") }
        self = report
    }

    init(rows: [Row], runs: [[Row]]? = nil) {
        self.rows = rows
        self.runs = runs
    }
}

extension RecordedReport.Row {
    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FieldName.self)
        for key in container.allKeys {
            let name = key.stringValue
            if let text = try? container.decode(String.self, forKey: key) {
                labels[name] = text
            } else if let number = try? container.decode(Double.self, forKey: key) {
                figures[name] = number
            } else if let numbers = try? container.decode([String: Double].self, forKey: key) {
                for (limit, number) in numbers { addExact("\(name).\(limit)", number) }
            } else {
                let flags = try container.decode([String: Bool].self, forKey: key)
                for (limit, flag) in flags { addExact("\(name).\(limit)", flag ? 1 : 0) }
            }
        }
    }

    private mutating func addExact(_ name: String, _ number: Double) {
        figures[name] = number
        exact.insert(name)
    }
}
