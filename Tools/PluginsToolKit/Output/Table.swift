#if CommandLineTools
    import MeshBus
    import TextTable

    /// Text in columns under titles. A cell is one line, whatever a plugin has put into it.
    struct Table {
        let columns: [TableColumn]
        let rows: [[String]]

        /// Lines without trailing spaces; empty when there are no rows.
        func text() -> String {
            let table = TextTable<[String]> { row in
                zip(columns, row).map { column, cell in
                    Column(
                        title: column.title.printable(), value: cell.printable(),
                        align: column.isNumeric ? .right : .left)
                }
            }
            let lines = (table.string(for: rows) ?? "").split(separator: "\n").map { line in
                String(line.reversed().drop { $0 == " " }.reversed())
            }
            return lines.joined(separator: "\n")
        }
    }

    struct TableColumn: ExpressibleByStringLiteral {
        let title: String
        let isNumeric: Bool

        init(_ title: String, isNumeric: Bool) {
            self.title = title
            self.isNumeric = isNumeric
        }

        init(stringLiteral title: String) { self.init(title, isNumeric: false) }

        static func number(_ title: String) -> TableColumn { TableColumn(title, isNumeric: true) }
    }
#endif
