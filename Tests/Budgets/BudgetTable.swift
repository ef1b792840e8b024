import Foundation

/// The table "What a peer can make us hold" of the security specification.
struct BudgetTable {
    struct Row {
        let name: String
        /// The maximum number of bytes, as the row states it.
        let bytesMax: Int
        /// True if the row states that no test fills it.
        let isUnfilled: Bool
    }

    let rows: [Row]

    init() throws {
        var file = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { file.deleteLastPathComponent() }
        file.append(path: "Docs/Internals/SecuritySpecification.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let table = lines.drop { !$0.hasPrefix("| held for peers |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        rows = table.compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let bytes = Self.bytes(in: cells[3]) else { return nil }
            return Row(name: cells[0], bytesMax: bytes, isUnfilled: cells[3].contains("†"))
        }
        guard !rows.isEmpty, rows.count == table.count else { throw Unreadable(rowCount: table.count) }
    }

    subscript(name: String) -> Row? { rows.first { $0.name == name } }

    /// Returns the first size in a text such as "80 MiB a peer", in bytes.
    private static func bytes(in text: String) -> Int? {
        let words = text.split(separator: " ")
        let units = ["KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30]
        guard words.count >= 2, let count = Int(words[0]), let unit = units[String(words[1])] else { return nil }
        return count * unit
    }
}

/// The table isn't where it is expected, or one of its rows states no bytes.
struct Unreadable: Error {
    let rowCount: Int
}
