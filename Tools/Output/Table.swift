#if CommandLineTools
    import MeshBase

    /// Text in columns under titles.
    ///
    /// If lines would be longer than the terminal's, texts are wrapped. Columns that still don't fit go into further tables
    /// below. Each of those begins with the labels: the columns before the first number, or as many of them as fit. A number is
    /// never broken.
    package struct Table {
        package let columns: [TableColumn]
        package let rows: [[String]]

        /// - Parameter rows: Cells may contain text of plugins or peers. Each becomes one printable line.
        package init(columns: [TableColumn], rows: [[String]]) {
            self.columns = columns
            self.rows = rows.map { $0.map { $0.printable() } }
        }

        /// Returns the lines without trailing spaces, or an empty text if there are no rows.
        /// - Parameter width: Maximum characters of a line; nil for no limit. A single number may be wider.
        package func text(width: Int? = ToolOutput.width) -> String {
            guard !rows.isEmpty else { return "" }
            let extents = columns.indices.map(extent)
            guard let width else { return lines(of: Array(columns.indices), widths: extents.map(\.natural)) }
            return TableLayout(extents, width: width).tables
                .map { lines(of: $0.columns, widths: $0.widths) }
                .joined(separator: "\n\n")
        }

        private func extent(of column: Int) -> ColumnExtent {
            let cells = rows.map { $0[column] }
            let widest = cells.map(\.terminalColumns).max() ?? 0
            let title = columns[column].title.terminalColumns
            let natural = max(widest, title)
            guard !columns[column].isNumeric else {
                return ColumnExtent(
                    natural: natural, wrapped: natural, broken: max(widest, min(title, ColumnExtent.brokenMin)),
                    isLabel: false)
            }
            // The first column identifies a row, so it stays unbroken while there is space.
            let isText = column > 0 && cells.contains { $0.contains(" ") }
            return ColumnExtent(
                natural: natural,
                wrapped: isText ? min(natural, max(ColumnExtent.wrappedMin, title)) : natural,
                broken: min(natural, ColumnExtent.brokenMin),
                isLabel: columns[..<column].allSatisfy { !$0.isNumeric })
        }

        private func lines(of shown: [Int], widths: [Int]) -> String {
            let pairs = Array(zip(shown, widths))
            func block(_ cells: [String]) -> [String] {
                let pieces = zip(cells, widths).map { $0.wrapped(to: $1) }
                return (0..<(pieces.map(\.count).max() ?? 0)).map { line in
                    let cells = zip(pairs, pieces).map { column, pieces in
                        let cell = line < pieces.count ? pieces[line] : ""
                        let space = String(repeating: " ", count: max(0, column.1 - cell.terminalColumns))
                        return columns[column.0].isNumeric ? space + cell : cell + space
                    }
                    return cells.joined(separator: String(repeating: " ", count: TableLayout.gap)).trimmingEnd
                }
            }
            let rule = widths.map { String(repeating: "-", count: $0) }.joined(separator: " ")
            let body = rows.flatMap { row in block(shown.map { row[$0] }) }
            return (block(shown.map { columns[$0].title }) + [rule] + body).joined(separator: "\n")
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

    /// The possible widths of a column.
    struct ColumnExtent {
        /// Minimum width of a wrapped text of several words.
        static let wrappedMin = 16
        /// Minimum width of broken words and titles.
        static let brokenMin = 10

        /// Width with every cell on one line.
        let natural: Int
        /// Width with texts broken between words.
        let wrapped: Int
        /// Width with words and titles broken too. Numbers stay unbroken.
        let broken: Int
        /// True if the column identifies rows, which means that it is before the first number.
        let isLabel: Bool
    }

    /// The distribution of columns over tables, and their widths.
    struct TableLayout {
        struct Part {
            var columns: [Int]
            var widths: [Int]

            var width: Int { widths.reduce(0, +) + max(0, widths.count - 1) * TableLayout.gap }
        }

        static let gap = 1

        let tables: [Part]

        /// Chooses the layout. Prefers unbroken words to fewer tables, and all labels in each table to unbroken words.
        init(_ extents: [ColumnExtent], width: Int) {
            let all = Part(columns: Array(extents.indices), widths: extents.map(\.wrapped))
            let labelCount = extents.prefix { $0.isLabel }.count
            var parts: [Part] = []
            if let whole = Self.fitted(all, extents, width), labelCount == extents.count || all.width <= width {
                parts = [whole]
            } else {
                let most = labelCount == extents.count ? 1 : labelCount
                for count in (min(1, most)...most).reversed() {
                    parts = Self.split(extents, labels: count, width)
                    if parts.allSatisfy({ $0.width <= width }) { break }
                }
            }
            tables = parts.map { Self.widened($0, extents, width) }
        }

        private static func split(_ extents: [ColumnExtent], labels: Int, _ width: Int) -> [Part] {
            func part(with column: Int?) -> Part {
                let columns = Array(0..<labels) + (column.map { [$0] } ?? [])
                return Part(columns: columns, widths: columns.map { extents[$0].wrapped })
            }
            var parts: [Part] = []
            for column in extents.indices.dropFirst(labels) {
                if var last = parts.last {
                    last.columns.append(column)
                    last.widths.append(extents[column].wrapped)
                    if last.width <= width {
                        parts[parts.count - 1] = last
                        continue
                    }
                }
                parts.append(part(with: column))
            }
            if parts.isEmpty { parts = [part(with: nil)] }
            return parts.map { fitted($0, extents, width) ?? $0 }
        }

        /// Shrinks the widest of the breakable columns until the part fits. Returns nil if it can't.
        private static func fitted(_ part: Part, _ extents: [ColumnExtent], _ width: Int) -> Part? {
            var part = part
            while part.width > width {
                let breakable = part.columns.indices.filter { part.widths[$0] > extents[part.columns[$0]].broken }
                guard let widest = breakable.max(by: { part.widths[$0] < part.widths[$1] }) else { return nil }
                part.widths[widest] -= 1
            }
            return part
        }

        /// Widens the narrowest columns first, so that long texts share the remaining space.
        private static func widened(_ part: Part, _ extents: [ColumnExtent], _ width: Int) -> Part {
            var part = part
            var room = width - part.width
            let wanting = part.columns.indices.sorted {
                extents[part.columns[$0]].natural < extents[part.columns[$1]].natural
            }
            for (done, index) in wanting.enumerated() where room > 0 {
                let wanted = extents[part.columns[index]].natural - part.widths[index]
                let given = min(wanted, room / (wanting.count - done))
                part.widths[index] += given
                room -= given
            }
            return part
        }
    }

    extension String {
        /// Returns lines of at most `width` columns. Breaks between words. Breaks a longer word after a hyphen or similar if it
        /// has one, and within a number only as a last resort.
        package func wrapped(to width: Int) -> [String] {
            guard terminalColumns > width, width > 0 else { return [self] }
            var lines = [""]
            for word in split(separator: " ") {
                let line = lines[lines.count - 1]
                if line.isEmpty {
                    lines[lines.count - 1] = String(word)
                } else if line.terminalColumns + 1 + word.terminalColumns <= width {
                    lines[lines.count - 1] += " " + word
                } else {
                    lines.append(String(word))
                }
                while lines[lines.count - 1].terminalColumns > width {
                    let long = lines.removeLast()
                    let end = long.placeToBreak(within: width)
                    lines += [String(long[..<end]), String(long[end...])]
                }
            }
            return lines
        }

        /// The lines, broken between words to the terminal's width. The terminal itself could break a number.
        package var wrappedToTerminal: String {
            guard let width = ToolOutput.width else { return self }
            return split(separator: "\n", omittingEmptySubsequences: false)
                .flatMap { String($0).wrapped(to: width) }.joined(separator: "\n")
        }

        private func placeToBreak(within width: Int) -> Index {
            let limit = prefix(columns: width).endIndex
            // A character that is wider than the line gets its own line.
            guard limit > startIndex else { return index(after: startIndex) }
            let places = indices.dropFirst().prefix { $0 <= limit }
            func isOutsideNumber(_ place: Index) -> Bool {
                let (before, after) = (self[index(before: place)], self[place])
                let isInNumber = { (character: Character) in character.isNumber || character == "." || character == ","
                }
                return !(isInNumber(before) && isInNumber(after))
            }
            let joint = places.last { place in
                let (before, after) = (self[index(before: place)], self[place])
                return isOutsideNumber(place) && (".-_+/,:".contains(before) || before.isLowercase && after.isUppercase)
            }
            return joint ?? places.last(where: isOutsideNumber) ?? limit
        }

        fileprivate var trimmingEnd: String { String(reversed().drop { $0 == " " }.reversed()) }
    }
#endif
