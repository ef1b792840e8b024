#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshSimulation
    import MeshToolOutput

    struct SimulateCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "simulate",
            abstract: "Simulate peers in virtual time, from seeds, and check the invariants.",
            discussion: """
                The seed decides everything. Prints failing seeds with the reason, and exits with 1 if \
                there are any. Keys with --json: seeds, failures (seed, reason), faults (counts by kind), faultSeeds (seeds \
                in which the kind happened), simulatedSeconds, wallSeconds, and the keys in each kind's help. Rows with \
                --mutations: mutation, isCaught, seed, seeds, reason.
                """,
            subcommands: kinds, defaultSubcommand: WorldsCommand.self)

        private static var kinds: [any ParsableCommand.Type] {
            let kinds: [any ParsableCommand.Type] = [
                WorldsCommand.self, SeriesCommand.self, ResumeCommand.self, MailboxesCommand.self,
            ]
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return kinds }
            return kinds + [
                DeliveryCommand.self, WatchCommand.self, SessionsCommand.self, LaunchesCommand.self, KeysCommand.self,
                LobbyCommand.self, LiarCommand.self, WakesCommand.self,
            ]
        }
    }

    /// The options that select the seeds.
    struct SeedOptions: ParsableArguments {
        @Option(help: "Number of seeds.")
        var seeds: UInt64 = 1_000

        @Option(help: "The first seed.")
        var from: UInt64 = 0

        @Flag(help: "Take the first seed from the date and time, and print it on stderr.")
        var fresh = false

        @Option(help: "Only this seed.")
        var seed: UInt64?

        @Flag(help: "Stop at the first failing seed.")
        var first = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            if fresh, from != 0 || seed != nil {
                throw ValidationError("--fresh can't be combined with --from or --seed")
            }
            if seed == .max { throw ValidationError("--seed must be below 2^64 - 1") }
            _ = try range()
        }

        func range() throws -> Range<UInt64> {
            if let seed { return seed..<(seed + 1) }
            let first = fresh ? Self.firstSeed(at: Date()) : from
            let (end, isTooMuch) = first.addingReportingOverflow(seeds)
            guard seeds > 0, !isTooMuch else {
                throw ValidationError("--seeds must be at least 1, and --from + --seeds must fit into 64 bits")
            }
            return first..<end
        }

        /// Returns the date in UTC, two digits for each unit from year to second, times a million: 261126153000000000.
        private static func firstSeed(at date: Date) -> UInt64 {
            let digits = ISO8601DateFormatter().string(from: date).filter(\.isNumber)
            return UInt64(digits.dropFirst(2).prefix(12)).map { $0 * 1_000_000 } ?? 0
        }
    }

    /// The options that break rules on purpose.
    struct RuleOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Break this rule on purpose.", valueName: "name"))
        var mutate: String?

        @Flag(
            help:
                "Break every rule in turn. Fails if --seeds seeds don't detect one. Needs a build that can break rules."
        )
        var mutations = false
    }

    /// Runs the seeds of one kind of simulation.
    protocol SeedCommand: ToolCommand {
        associatedtype Kind: SeedSimulation

        var shared: SeedOptions { get }
        var trace: Bool { get }
        var shrink: Bool { get }
        /// The rule to break; nil for none.
        var mutate: String? { get }
        /// The rules that can be broken.
        var rules: [String] { get }

        func validateKind() throws
        func simulation(breaking rule: String?, on bus: PluginBus) throws -> Kind
        /// Called after the report is printed.
        func finish(_ report: SeedReport, on bus: PluginBus) async throws
    }

    extension SeedCommand {
        var trace: Bool { false }
        var shrink: Bool { false }
        var mutate: String? { nil }
        var rules: [String] { Kind.mutationNames }

        func validateKind() throws {}
        func finish(_ report: SeedReport, on bus: PluginBus) async throws {}

        func validate() throws {
            if trace, shared.seed == nil { throw ValidationError("--trace needs --seed") }
            if let mutate {
                try demandRules()
                guard rules.contains(mutate) else {
                    throw ValidationError("there is no rule '\(mutate.printable())'; there are \(rules.list)")
                }
            }
            try validateKind()
        }

        func demandRules() throws {
            guard rules.isEmpty else { return }
            throw ValidationError(
                "this build can't break rules; build with Tests/BrokenRules/overlay swift build --product plugins-tool")
        }

        func run(on bus: PluginBus) async throws { try await simulate(on: bus) }

        func simulate(on bus: PluginBus) async throws {
            let simulation = try simulation(breaking: mutate, on: bus)
            let progress = ProgressLine()
            let report = simulation.run(
                try begin(), stopsAtFailure: shared.first || shrink, trace: shrink ? nil : tracer
            ) { report in
                guard report.seeds % 16 == 0 else { return }
                progress.show("\(report.seeds.grouped) seeds, \(report.failures.count.grouped) failing")
            }
            progress.clear()
            try shared.output.print(object: report) { text(of: report, simulation) }
            try await finish(report, on: bus)
            if !report.failures.isEmpty { throw ExitCode.failure }
        }

        /// - Returns: The seeds to run.
        func begin() throws -> Range<UInt64> {
            let seeds = try shared.range()
            if shared.fresh { ToolOutput.remark("The first seed is \(seeds.lowerBound).") }
            return seeds
        }

        private var tracer: SeedSimulation.Trace? {
            guard trace else { return nil }
            return { ToolOutput.remark($0) }
        }

        private func text(of report: SeedReport, _ simulation: Kind) -> String {
            let scheduled = simulation as? any ScheduledSimulation
            var parts = [report.summary.wrappedToTerminal]
            for (index, failure) in report.failures.enumerated() {
                if index < 3, let scheduled {
                    parts.append(account(of: failure, scheduled))
                } else {
                    parts.append("seed \(failure.seed): \(failure.reason)")
                }
            }
            if let seed = report.failures.first?.seed {
                parts.append("replay with: \(replay(seed))\(scheduled == nil ? "" : " --shrink")")
            } else if let seed = shared.seed, let scheduled {
                parts.append(schedule(of: seed, scheduled))
            }
            return (parts + [report.faultTable]).joined(separator: "\n\n")
        }

        private func schedule(of seed: UInt64, _ simulation: some ScheduledSimulation) -> String {
            simulation.text(of: simulation.schedule(of: seed))
        }

        private func account(of failure: SeedReport.Failure, _ simulation: some ScheduledSimulation) -> String {
            var (schedule, reason) = (simulation.schedule(of: failure.seed), failure.reason)
            if shrink, let small = simulation.shrunk(schedule) {
                schedule = small
                reason = simulation.run(small, trace: tracer).failure ?? reason
            }
            return "seed \(failure.seed): \(reason)\n\(simulation.text(of: schedule))"
        }

        /// Returns the user's command line, reduced to one seed.
        private func replay(_ seed: UInt64) -> String {
            var rest = CommandLine.arguments.dropFirst()
            var words = [RootCommand.configuration.commandName ?? "plugins-tool"]
            while let word = rest.popFirst() {
                let name = String(word.prefix { $0 != "=" })
                if ["--seeds", "--from", "--seed", "--record"].contains(name) {
                    if name == word { _ = rest.popFirst() }
                } else if !["--fresh", "--first", "--json", "--trace", "--shrink", "--inspect"].contains(word) {
                    words.append(word.printable())
                }
            }
            return (words + ["--seed \(seed)"]).joined(separator: " ")
        }
    }

    /// A command that can break rules.
    protocol RuleCommand: SeedCommand {
        var breaking: RuleOptions { get }
        /// The rules that at least one seed must detect when they are broken.
        var provenRules: [String] { get }
        func row(of rule: String, _ seeds: Range<UInt64>, on bus: PluginBus) throws -> MutationRow
    }

    extension RuleCommand {
        var mutate: String? { breaking.mutate }
        var provenRules: [String] { rules }

        func row(of rule: String, _ seeds: Range<UInt64>, on bus: PluginBus) throws -> MutationRow {
            MutationRow(rule, try simulation(breaking: rule, on: bus).run(seeds, stopsAtFailure: true))
        }

        func run(on bus: PluginBus) async throws {
            guard breaking.mutations else { return try await simulate(on: bus) }
            try demandRules()
            let seeds = try begin()
            let progress = ProgressLine()
            let rows = try provenRules.map { rule in
                progress.show(rule)
                return try row(of: rule, seeds, on: bus)
            }
            progress.clear()
            try shared.output.print(rows) {
                Table(
                    columns: ["Mutation", .number("Seed"), .number("Seeds"), "Caught because"],
                    rows: rows.map {
                        [$0.mutation, $0.seed.map { "\($0)" } ?? "-", "\($0.seeds)", $0.reason ?? "not caught"]
                    }
                ).text()
            }
            if !rows.allSatisfy(\.isCaught) { throw ExitCode.failure }
        }
    }

    /// The result of breaking a rule on purpose.
    struct MutationRow: Encodable {
        let mutation: String
        let isCaught: Bool
        /// The first seed that failed.
        let seed: UInt64?
        /// Number of seeds that were run.
        let seeds: Int
        let reason: String?

        init(_ mutation: String, _ report: SeedReport) {
            let first = report.failures.first
            self.init(mutation, seed: first?.seed, seeds: UInt64(report.seeds), reason: first?.reason)
        }

        init(_ mutation: String, seed: UInt64?, seeds: UInt64, reason: String?) {
            self.mutation = mutation
            isCaught = seed != nil
            self.seed = seed
            self.seeds = Int(clamping: seeds)
            self.reason = reason
        }
    }

    extension SeedReport {
        fileprivate var summary: String {
            let counts = self.counts.sorted { $0.key < $1.key }.map { "\($0.value.grouped) \($0.key.words)" }
            let greatest = self.greatest.sorted { $0.key < $1.key }.map { "\($0.key.words) \($0.value.figure)" }
            let others = tables.filter { !$0.key.hasPrefix("fault") && !$0.value.isEmpty }
            let lines = others.sorted { $0.key < $1.key }.map { name, table in
                let cells = table.sorted { $0.key < $1.key }.map { "\($0.key.words): \($0.value.grouped)" }
                return "\(name.words): \(cells.list)"
            }
            let seeds = """
                \(seeds.grouped) seeds, \(failures.count.grouped) failing; \
                \(simulatedSeconds.figure) s simulated in \(wallSeconds.figure) s
                """
            return ([seeds, (counts + greatest).list] + lines).joined(separator: "\n")
        }

        fileprivate var faultTable: String {
            Table(
                columns: ["Fault", .number("Times"), .number("Seeds")],
                rows: faults.sorted { $0.key < $1.key }.map { kind, count in
                    [kind, count.grouped, (faultSeeds[kind] ?? 0).grouped]
                }
            ).text()
        }
    }

    extension String {
        /// The camel-case name as words: `lostByForks` becomes `lost by forks`.
        fileprivate var words: String { reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : "\($1)" } }
    }
#endif
