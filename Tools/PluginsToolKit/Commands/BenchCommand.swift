#if CommandLineTools
    import ArgumentParser
    import MeshBus

    struct BenchCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench", abstract: "Measure: every case that the plugins offer, or one.",
            discussion: """
                Rows of every case: benchmark, then the case's own keys. Build in release mode for figures that mean \
                something. Rows of `codecs`: payload, codec (compact goes through Codable, compact.direct through \
                WireCodable; +interned is a later frame of a connection that remembers identity and names), bytes, \
                encodeNanoseconds, decodeNanoseconds, encodeVsJSON, decodeVsJSON (how many times faster \
                than json), and by limit id: fits, frames (how many carry it), capacity (how many samples would fit into \
                one; for payloads made of samples). Rows of `state`: state, merge, valueBytes (JSON), firstBytes (the \
                first change), updateBytes (the median of ten later ones, a whole frame), updateBytesZlib, contextBytes \
                (what an application context of WatchConnectivity holds), updatesPerContext.
                """)

        @Argument(help: "The case, such as codecs; all when absent.")
        var benchmark: String?

        @Option(help: "For codecs: this payload only.")
        var payload: String?

        @Option(help: "For links: this one only.")
        var link: String?

        @Option(help: ArgumentHelp("For codecs: make the track from this recording.", valueName: "file"))
        var gpx: String?

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) async throws {
            let cases = try bus.benchmarks(named: benchmark)
            let progress = ProgressLine()
            var options: [String: String] = [:]
            options["payload"] = payload
            options["gpx"] = gpx
            options["link"] = link
            let context = BenchmarkContext(bus: bus, options: options) { progress.show($0) }

            var rows: [[BenchmarkRow]] = []
            for benchmark in cases {
                rows.append(try await benchmark.run(context))
            }
            progress.clear()
            try output.print(zip(cases, rows).flatMap { benchmark, rows in rows.map { $0.labelled(benchmark.id) } }) {
                zip(cases, rows).map { benchmark, rows in
                    benchmark.summary.printable() + "\n\n"
                        + BenchmarkTable.text(of: rows, columns: bus.descriptors.payloadLimits.map(\.id))
                }
                .joined(separator: "\n\n")
            }
        }
    }

    /// Benchmark rows as tables: one of plain values, one of what is told for each name.
    enum BenchmarkTable {
        /// - Parameter columns: names that come first, in this order, where values are by name.
        static func text(of rows: [BenchmarkRow], columns: [String] = []) -> String {
            let fields = rows.first?.fields ?? []
            let plain = fields.filter { !$0.value.isByName }.map(\.name)
            let byName = fields.filter { $0.value.isByName }.map(\.name)
            let main = Table(
                columns: fields.filter { !$0.value.isByName }.map {
                    TableColumn($0.name, isNumeric: $0.value.isNumeric)
                },
                rows: rows.map { row in plain.map { row[$0]?.text ?? "" } })
            guard !byName.isEmpty else { return main.text() }

            let told = Set(rows.flatMap(\.fields).flatMap(\.value.names))
            let names = columns.filter(told.contains) + told.subtracting(columns).sorted()
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
