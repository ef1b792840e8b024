#if CommandLineTools
    package import MeshBenchmarks
    import MeshBase

    /// Formats benchmark rows as tables: one for plain values and one for values by name.
    package enum BenchmarkTable {
        /// - Parameter columns: Names that come first, in this order, in tables of values by name.
        package static func text(of rows: [BenchmarkRow], columns: [String] = []) -> String {
            let fields = rows.first?.fields ?? []
            let plain = fields.filter { !$0.value.isByName }.map(\.name)
            let byName = fields.filter { $0.value.isByName }.map(\.name)
            let main = Table(
                columns: fields.filter { !$0.value.isByName }.map {
                    TableColumn($0.name, isNumeric: $0.value.isNumeric)
                },
                rows: rows.map { row in plain.map { row[$0]?.text ?? "" } })
            guard !byName.isEmpty else { return main.text() }

            let present = Set(rows.flatMap(\.fields).flatMap(\.value.names))
            let names = columns.filter(present.contains) + present.subtracting(columns).sorted()
            let labels = fields.filter { $0.value.isLabel }.map(\.name)
            let detail = Table(
                columns: labels.map { TableColumn($0, isNumeric: false) } + names.map { .number($0) },
                rows: rows.map { row in
                    labels.map { row[$0]?.text ?? "" }
                        + names.map { name in byName.compactMap { row[$0]?.text(of: name) }.joined(separator: " / ") }
                })
            return main.text() + "\n\n" + byName.joined(separator: " / ") + "\n\n" + detail.text()
        }
    }

    extension BenchmarkValue {
        fileprivate var isLabel: Bool { if case .text = self { true } else { false } }
        fileprivate var isNumeric: Bool { !isLabel }

        fileprivate var isByName: Bool {
            switch self {
            case .flags, .integers: true
            case .text, .integer, .number: false
            }
        }

        fileprivate var names: [String] {
            switch self {
            case .flags(let flags): Array(flags.keys)
            case .integers(let integers): Array(integers.keys)
            case .text, .integer, .number: []
            }
        }

        fileprivate var text: String {
            switch self {
            case .text(let text): text
            case .integer(let integer): integer.grouped
            case .number(let number): number.figure
            case .flags, .integers: ""
            }
        }

        fileprivate func text(of name: String) -> String? {
            switch self {
            case .flags(let flags): flags[name].map { $0 ? "yes" : "no" }
            case .integers(let integers): integers[name].map(\.grouped)
            case .text, .integer, .number: nil
            }
        }
    }
#endif
