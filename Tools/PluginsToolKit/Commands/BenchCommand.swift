#if CommandLineTools
    import ArgumentParser
    import MeshBenchmarks
    import MeshBus
    import MeshToolOutput

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

        @Option(help: "For links: this one only. For way: this one, between processes.")
        var link: String?

        @Option(help: ArgumentHelp("For codecs: make the track from this recording.", valueName: "file"))
        var gpx: String?

        @Option(help: "For alone: how many times as fast as life the day passes; as fast as it can when absent.")
        var speed: String?

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) async throws {
            let cases = try bus.benchmarks(named: benchmark)
            let progress = ProgressLine()
            var options: [String: String] = [:]
            options["payload"] = payload
            options["gpx"] = gpx
            options["link"] = link
            options["speed"] = speed
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
#endif
