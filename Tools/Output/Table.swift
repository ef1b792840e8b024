#if CommandLineTools
    import MeshBase
    import TextTable

    /// Text in columns under titles.
    ///
    /// Where the lines would be longer than the terminal's, texts take several lines each; columns that do not fit even so
    /// go into further tables below, each beginning with the labels: the columns before the first number.
    package struct Table {
        package let columns: [TableColumn]
        package let rows: [[String]]

        /// - Parameter rows: of which a cell is one line, whatever a plugin or a peer has put into it.
        package init(columns: [TableColumn], rows: [[String]]) {
            self.columns = columns
            self.rows = rows.map { $0.map { $0.printable() } }
        }

        /// Lines without trailing spaces; empty when there are no rows.
        /// - Parameter width: of a line in characters; nil for any. One column that is wider by itself stays so.
        package func text(width: Int? = ToolOutput.width) -> String {
            guard let width else { return lines(of: Array(columns.indices), widths: naturalWidths) }
            let isText = columns.indices.map { column in
                !columns[column].isNumeric && rows.contains { $0[column].contains(" ") }
            }
            return TableLayout(columns: columns, isText: isText, naturalWidths: naturalWidths, width: width).tables
                .map { lines(of: $0.columns, widths: $0.widths) }
                .joined(separator: "\n\n")
        }

        private var naturalWidths: [Int] {
            columns.indices.map { column in
                rows.reduce(columns[column].title.count) { max($0, $1[column].count) }
            }
        }

        private func lines(of shown: [Int], widths: [Int]) -> String {
            let cells = rows.flatMap { row in
                let pieces = zip(shown, widths).map { row[$0].wrapped(to: $1) }
                return (0..<(pieces.map(\.count).max() ?? 0)).map { line in
                    pieces.map { $0.indices.contains(line) ? $0[line] : "" }
                }
            }
            let table = TextTable<[String]> { row in
                zip(shown, row).map { column, cell in
                    Column(
                        title: columns[column].title, value: cell, align: columns[column].isNumeric ? .right : .left)
                }
            }
            let lines = (table.string(for: cells) ?? "").split(separator: "\n").map { line in
                String(line.reversed().drop { $0 == " " }.reversed())
            }
            return lines.joined(separator: "\n")
        }
    }

    package struct TableColumn: ExpressibleByStringLiteral {
        package let title: String
        package let isNumeric: Bool

        package init(_ title: String, isNumeric: Bool) {
            self.title = title.printable()
            self.isNumeric = isNumeric
        }

        package init(stringLiteral title: String) { self.init(title, isNumeric: false) }

        package static func number(_ title: String) -> TableColumn { TableColumn(title, isNumeric: true) }
    }

    /// Which columns stand in which table, and how wide.
    struct TableLayout {
        struct Part {
            var columns: [Int]
            var widths: [Int]

            var width: Int { widths.reduce(0, +) + max(0, widths.count - 1) * TableLayout.gap }
        }

        static let gap = 2
        /// A text is not made narrower.
        private static let textMin = 16

        let tables: [Part]

        /// - Parameter isText: which columns have cells of several words.
        init(columns: [TableColumn], isText: [Bool], naturalWidths: [Int], width: Int) {
            // Only texts are broken, and not what a row is known by.
            func least(_ column: Int) -> Int {
                guard column > 0, isText[column] else { return naturalWidths[column] }
                return min(naturalWidths[column], max(Self.textMin, columns[column].title.count))
            }
            let labels = Array(columns.indices.prefix { !columns[$0].isNumeric })
            let whole = Part(columns: Array(columns.indices), widths: columns.indices.map(least))
            var parts: [Part] = []
            if whole.width <= width || labels.count == columns.count {
                parts = [whole]
            } else {
                let start = Part(columns: labels, widths: labels.map(least))
                parts = [start]
                for column in columns.indices.dropFirst(labels.count) {
                    let last = parts[parts.count - 1]
                    let fits = last.width + Self.gap + least(column) <= width
                    if !fits, last.columns.count > labels.count { parts.append(start) }
                    parts[parts.count - 1].columns.append(column)
                    parts[parts.count - 1].widths.append(least(column))
                }
            }
            tables = parts.map { part in
                var part = part
                var room = width - part.width
                // The narrowest first, so that the long texts share what is left.
                let wanting = part.columns.indices.sorted {
                    naturalWidths[part.columns[$0]] < naturalWidths[part.columns[$1]]
                }
                for (done, index) in wanting.enumerated() where room > 0 {
                    let wanted = naturalWidths[part.columns[index]] - part.widths[index]
                    let given = min(wanted, room / (wanting.count - done))
                    part.widths[index] += given
                    room -= given
                }
                return part
            }
        }
    }

    extension String {
        /// Lines of at most so many characters, broken between words, or within one that is longer.
        func wrapped(to width: Int) -> [String] {
            guard count > width, width > 0 else { return [self] }
            var lines = [""]
            for word in split(separator: " ") {
                let line = lines[lines.count - 1]
                if line.isEmpty {
                    lines[lines.count - 1] = String(word)
                } else if line.count + 1 + word.count <= width {
                    lines[lines.count - 1] += " " + word
                } else {
                    lines.append(String(word))
                }
                while lines[lines.count - 1].count > width {
                    let long = lines.removeLast()
                    lines += [String(long.prefix(width)), String(long.dropFirst(width))]
                }
            }
            return lines
        }
    }
#endif
