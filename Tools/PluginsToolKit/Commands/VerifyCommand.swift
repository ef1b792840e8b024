#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshTesting
    import MeshToolOutput

    struct VerifyCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract:
                "Examine by the conformance rules: every plugin that offers a transport, a codec, a store or a replay buffer, or one.",
            discussion: """
                Rows: plugin, rule, summary, outcome (passed, failed, skipped), detail. The exit code is 1 when a rule \
                failed.
                """)

        @Argument(help: "The plugin, such as transport.pipe; all when absent.")
        var id: String?

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) async throws {
            let progress = ProgressLine()
            let rows = try await Verification(of: id, on: bus).rows { progress.show("examining \($0)") }
            progress.clear()
            try output.print(rows) {
                let table = Table(
                    columns: ["Plugin", "Rule", "Outcome", "Detail"],
                    rows: rows.map { [$0.plugin.rawValue, $0.rule, $0.outcome.rawValue, $0.detail] })
                let outcomes: [ConformanceReport.Outcome] = [.passed, .failed, .skipped]
                let counts = outcomes.map { outcome in "\(rows.count { $0.outcome == outcome }) \(outcome.rawValue)" }
                return table.text() + "\n\n" + counts.list
            }
            // Repeated, because the end of a long output must show what failed.
            let failed = rows.filter { $0.outcome == .failed }.map { "\($0.plugin) fails \($0.rule): \($0.detail)" }
            if !failed.isEmpty { throw ToolError(failed.joined(separator: "; ")) }
        }
    }
#endif
