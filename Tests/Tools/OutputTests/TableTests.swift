#if CommandLineTools
    import MeshBase
    import Testing

    @testable import MeshToolOutput

    @Suite struct TableTests {
        private static let words = "one two three four-and-a-half five sixes seven eight nine ten eleven".split(
            separator: " ")

        /// Returns a table with texts of up to 40 words and numbers of up to 12 digits, in random columns.
        private func table(seed: UInt64) -> Table {
            var random = SplitMix64(seed: seed)
            let columns = (0..<Int.random(in: 1...30, using: &random)).map { index in
                TableColumn("column\(index)", isNumeric: index > 0 && Bool.random(using: &random))
            }
            let rows = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                columns.map { column in
                    if column.isNumeric { return "\(UInt64.random(in: 0...999_999_999_999, using: &random))" }
                    let count = Int.random(in: 0...(column.title == "column0" ? 2 : 40), using: &random)
                    return (0..<count).map { _ in String(Self.words.randomElement(using: &random) ?? "") }
                        .joined(separator: " ")
                }
            }
            return Table(columns: columns, rows: rows)
        }

        @Test("No line is longer than the terminal is wide, and no cell is lost", arguments: 0..<300 as Range<UInt64>)
        func width(seed: UInt64) {
            let table = table(seed: seed)
            for width in [40, 60, 80, 100, 132] {
                let text = table.text(width: width)
                let longest = text.split(separator: "\n").map(\.count).max() ?? 0
                #expect(longest <= width, "\(width) of \(table.columns.count) columns, seed \(seed)\n\(text)")
                for (column, title) in table.columns.enumerated() where title.isNumeric {
                    for row in table.rows { #expect(text.contains(row[column]), "seed \(seed)") }
                }
            }
        }

        @Test func `Texts break between words, and a long word within`() {
            #expect("a few short words".wrapped(to: 9) == ["a few", "short", "words"])
            #expect("abcdefghij k".wrapped(to: 4) == ["abcd", "efgh", "ij k"])
            #expect("".wrapped(to: 4) == [""])
            #expect("fits as  it is".wrapped(to: 14) == ["fits as  it is"])
            for count in 0..<200 {
                let text = Self.words.prefix(count % 12).joined(separator: " ")
                let lines = text.wrapped(to: 1 + count / 4)
                #expect(lines.allSatisfy { $0.count <= 1 + count / 4 })
                #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
            }
        }

        @Test func `A long word breaks at a separator, and a number only as a last resort`() {
            #expect("transport.simulated-watch".wrapped(to: 16) == ["transport.", "simulated-watch"])
            #expect("MeshWatchConnectivity".wrapped(to: 12) == ["MeshWatch", "Connectivity"])
            #expect("abc12,345.67".wrapped(to: 10) == ["abc", "12,345.67"])
            #expect("12345678".wrapped(to: 6) == ["123456", "78"])
            #expect("時計時計".wrapped(to: 5) == ["時計", "時計"])
        }

        @Test func `Words are wrapped before a column moves into a table of its own`() {
            let table = Table(
                columns: ["ID", "Module", "Version"],
                rows: [["transport.watch-connectivity", "MeshWatchConnectivityTransport", "0.1.0"]])
            #expect(
                table.text(width: 60) == """
                    ID                        Module                     Version
                    ------------------------- -------------------------- -------
                    transport.watch-          MeshWatchConnectivity      0.1.0
                    connectivity              Transport
                    """)
        }

        @Test func `A title wraps above its number`() {
            let table = Table(columns: ["peer", .number("wake-ups an event")], rows: [["phone", "0.52"]])
            #expect(
                table.text(width: 18) == """
                    peer   wake-ups an
                                 event
                    ----- ------------
                    phone         0.52
                    """)
        }

        @Test func `With enough space there is one table, as wide as it needs`() {
            let table = Table(columns: ["id", .number("bytes")], rows: [["a", "1"], ["bc", "23"]])
            #expect(table.text(width: nil) == table.text(width: 100))
            #expect(table.text(width: 100).split(separator: "\n").count == 4)
        }

        @Test func `Numbers that don't fit side by side are below, each with its row's label`() {
            let names = (0..<12).map { "limit-\($0)" }
            let table = Table(
                columns: ["codec"] + names.map { .number($0) }, rows: [["json"] + names.indices.map { "\($0)" }])
            let text = table.text(width: 40)
            #expect(text.split(separator: "\n").filter { $0.hasPrefix("json") }.count > 2)
            for name in names { #expect(text.contains(name)) }
        }
    }
#endif
