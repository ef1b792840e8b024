#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBenchmarks
    import MeshBus
    import MeshToolOutput

    struct BenchCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench", abstract: "Run the plugins' benchmarks, all or some.",
            discussion: """
                Rows of every case: benchmark, then the case's own keys. Build in release mode for figures that mean \
                something. Rows of `codecs`: payload, codec (json and plist are Foundation's, of the whole envelope; \
                compact goes through Codable, compact.direct through WireCodable; +interned is a later frame of a \
                connection that remembers identity and names), bytes, encodeNanoseconds, decodeNanoseconds, encodeVsJSON, \
                decodeVsJSON (how many times faster than json), and by limit id: fits, frames (how many carry it), \
                capacity (how many samples would fit into one; for payloads made of samples). Rows of `state`: state, \
                merge, valueBytes (JSON), firstBytes (the first change), updateBytes (the median of ten later ones, a \
                whole frame), updateBytesZlib, contextBytes (what an application context of WatchConnectivity holds), \
                updatesPerContext. Rows of `growth`: payload, samples, codec, bytes, encodeNanoseconds, decodeNanoseconds. \
                Rows of `energy`, a phone and a watch in virtual time, both devices summed: scenario, minutes, messages, bytes \
                (what WatchConnectivity was handed), bursts200ms and bursts2s (messages after so much silence), writes (commits \
                of both stores), and by lane (message, userInfo, context) the messages.

                With --json the object also has runCount, runs (the figures of each run, where there were several), \
                limits, payloads, setting (date, version, build, processor, cores, memoryBytes, system), and answers: does \
                each payload of `codecs` fit the limit? (payload, limit, limitBytes, fits, codec, bytes, sentence).
                """,
            subcommands: [CompareCommand.self])

        @Argument(help: "The cases, such as codecs. By default, all.")
        var benchmarks: [String] = []

        @Option(help: "For codecs and growth: only this payload.")
        var payload: String?

        @Option(
            help: "For codecs: the limit that payloads must fit. By default, WatchConnectivity's application context.")
        var limit: String?

        @Option(help: "For links: only this link. For way: this link, between processes.")
        var link: String?

        @Option(
            help: ArgumentHelp("For codecs and growth: the recording from which to make the track.", valueName: "file"))
        var gpx: String?

        @Option(help: "For alone: times real speed at which the day passes. By default, as fast as possible.")
        var speed: String?

        @Option(
            name: .customLong("repeat"),
            help: "Number of runs, 1 to 100. Prints medians; the runs show the noise.")
        var runCount = 1

        @Option(help: ArgumentHelp("Also write a page with charts, for any browser.", valueName: "file"))
        var html: String?

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (1...100).contains(runCount) else { throw ValidationError("--repeat must be from 1 to 100") }
        }

        func run(on bus: PluginBus) async throws {
            let cases = try bus.benchmarks(named: benchmarks)
            let limit = try bus.limit(named: limit)
            // Fails now instead of after minutes of measuring.
            let page = try html.map { path throws(ToolError) in try OutputFile(path, option: "--html") }
            let progress = ProgressLine()
            var options: [String: String] = [:]
            options["payload"] = payload
            options["gpx"] = gpx
            options["link"] = link
            options["speed"] = speed

            var runs: [[BenchmarkRow]] = []
            for run in 1...runCount {
                let prefix = runCount == 1 ? "" : "run \(run) of \(runCount): "
                let context = BenchmarkContext(bus: bus, options: options) { progress.show(prefix + $0) }
                var rows: [BenchmarkRow] = []
                for benchmark in cases { rows += try await benchmark.run(context).map { $0.labelled(benchmark.id) } }
                runs.append(rows)
            }
            progress.clear()
            let report = try BenchmarkReport(runs: runs, bus: bus, limit: limit)
            if let page { try page.write(Data(ReportPage(report).html.utf8)) }
            try output.print(object: report) { text(of: report, cases, bus) }
            #if DEBUG
                ToolOutput.remark(
                    "This is a debug build, so its times mean nothing. Measure with swift run -c release.")
            #endif
            if let html { ToolOutput.remark("The page is in '\(html)'.") }
        }

        private func text(of report: BenchmarkReport, _ cases: [BenchmarkCase], _ bus: PluginBus) -> String {
            cases.map { benchmark in
                let rows = report.rows.of(benchmark.id).map(\.unlabelled)
                let table = BenchmarkTable.text(of: rows, columns: bus.descriptors.payloadLimits.map(\.id))
                let answers =
                    benchmark.id == "codecs" ? report.answers.map { $0.sentence.printable().wrappedToTerminal } : []
                return [benchmark.summary.printable().wrappedToTerminal, table, answers.joined(separator: "\n")]
                    .filter { !$0.isEmpty }.joined(separator: "\n\n")
            }
            .joined(separator: "\n\n")
        }
    }

    struct CompareCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "compare",
            abstract: "Compare two reports: changes that exceed the noise of repeated runs.",
            discussion: """
                Make the reports with `bench --repeat 5 --json > FILE`. Rows: row, figure, before, after, changePercent, \
                noisePercent (how far apart the runs of one report are), verdict (better, worse, moved; noise; unknown \
                where there are no repeated runs). What moved comes first; with --all also what is noise.
                """)

        @Argument(help: ArgumentHelp("The earlier output of `bench --json`.", valueName: "before"))
        var before: String

        @Argument(help: ArgumentHelp("The later output.", valueName: "after"))
        var after: String

        @Flag(help: "Include changes within the noise.")
        var all = false

        @OptionGroup var output: OutputOptions

        func run() throws {
            let reports = try (RecordedReport(path: before), RecordedReport(path: after))
            let comparison = BenchmarkComparison(reports.0, reports.1)
            let shown = comparison.changes.filter { all || $0.verdict != .noise }
            try output.print(shown) { comparison.text(of: shown) }
        }
    }

    extension BenchmarkComparison {
        fileprivate func text(of shown: [Change]) -> String {
            func percent(_ value: Double?) -> String { value.map { "\($0.figure) %" } ?? "?" }
            let table = Table(
                columns: [
                    "Row", "Figure", .number("Before"), .number("After"), .number("Change"), .number("Noise"),
                    "Verdict",
                ],
                rows: shown.map { change in
                    [
                        change.row, change.figure, change.before.figure, change.after.figure,
                        percent(change.changePercent), percent(change.noisePercent), change.verdict.rawValue,
                    ]
                })
            let moved = changes.count { $0.verdict != .noise && $0.verdict != .unknown }
            let unknown = changes.count { $0.verdict == .unknown }
            var lines = ["\(moved.grouped) of \(comparedCount.grouped) figures moved."]
            if unknown > 0 {
                lines.append("\(unknown.grouped) differ, and one run tells no noise: measure with --repeat 5.")
            }
            if !onlyBefore.isEmpty { lines.append("Only before: \(onlyBefore.list.printable()).") }
            if !onlyAfter.isEmpty { lines.append("Only after: \(onlyAfter.list.printable()).") }
            return (shown.isEmpty ? [] : [table.text(), "", ""]).joined(separator: "\n") + lines.joined(separator: "\n")
        }
    }
#endif
