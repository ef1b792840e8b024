#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshSimulation
    import MeshToolOutput

    struct ModelCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "model",
            abstract: "A model of groups that go on without an absent member: votes on views, lost stores, returns.",
            discussion: """
                More keys: members, accepted, confirmed. Rows with --exhaustive: bounds, states, transitions, depth, ends, \
                statesAfterFirstView, statesWithConfirmed, confirmedMost, isComplete, violation (reason, steps), \
                wallSeconds. Rows with --mutations, which fails unless those are caught that are expected to show: \
                mutation, isExpectedToShow, isCaught, members, seed, depth, states, reason.
                """)

        @Option(help: ArgumentHelp("So many members found the group, 2 to 16.", valueName: "count"))
        var members = 3

        @Flag(help: "Visit every state of a few members instead of seeds.")
        var exhaustive = false

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            guard (2...16).contains(members) else { throw ValidationError("--members is from 2 to 16") }
            if exhaustive, shared.seed != nil || shared.fresh { throw ValidationError("--exhaustive has no seeds") }
        }

        private func broken(_ rule: String?) -> Set<CompanyMutation> {
            Set(rule.flatMap(CompanyMutation.init(name:)).map { [$0] } ?? [])
        }

        func simulation(breaking rule: String?, on bus: PluginBus) -> CompanySimulation {
            CompanySimulation(members: members, breaking: broken(rule))
        }

        func run(on bus: PluginBus) async throws {
            if breaking.mutations { return try proveMutations(begin()) }
            if exhaustive { return try search(breaking: broken(mutate)) }
            try await simulate(on: bus)
        }

        private func search(breaking broken: Set<CompanyMutation>) throws {
            let progress = ProgressLine()
            let bounds = broken.first.map { [CompanySimulation.bounds(for: $0)] } ?? CompanySimulation.searches
            let reports = bounds.map { bounds in
                CompanySimulation.search(bounds, breaking: broken) { report in
                    progress.show("\(report.states.grouped) states, depth \(report.depth)")
                }
            }
            progress.clear()
            try shared.output.print(reports) {
                let columns: [TableColumn] = [
                    .number("Members"), .number("Newcomers"), .number("Taps"), .number("Ballots"), .number("Losses"),
                    .number("States"), .number("After a vote"), .number("With confirmed"), .number("Depth"),
                    .number("Seconds"), "Violation",
                ]
                let table = Table(columns: columns, rows: reports.map(row))
                let schedules = reports.compactMap(\.violation).map { violation in
                    violation.steps.enumerated().map { "\($0 + 1). \($1)" }.joined(separator: "\n")
                }
                return ([table.text()] + schedules).joined(separator: "\n\n")
            }
            if reports.contains(where: { $0.violation != nil || !$0.isComplete }) { throw ExitCode.failure }
        }

        private func row(_ report: CompanySearchReport) -> [String] {
            let bounds = report.bounds
            return [
                "\(bounds.members)", "\(bounds.newcomers)", "\(bounds.taps)", "\(bounds.ballots)", "\(bounds.losses)",
                report.states.grouped, report.statesAfterFirstView.grouped, report.statesWithConfirmed.grouped,
                "\(report.depth)", report.wallSeconds.figure,
                report.violation?.reason ?? (report.isComplete ? "" : "not all states were seen"),
            ]
        }

        private func proveMutations(_ seeds: Range<UInt64>) throws {
            let progress = ProgressLine()
            let findings = CompanySimulation.trials.map { trial in
                CompanySimulation.finding(of: trial, within: seeds) { progress.show($0) }
            }
            progress.clear()
            try shared.output.print(findings) {
                Table(
                    columns: [
                        "Mutation", "Expected", .number("Members"), .number("Seed"), .number("Depth"), "Caught because",
                    ],
                    rows: findings.map { finding in
                        [
                            finding.mutation, finding.isExpectedToShow ? "yes" : "no",
                            finding.members.map { "\($0)" } ?? "-",
                            finding.seed.map { "\($0)" } ?? "-", finding.depth.map { "\($0)" } ?? "-",
                            finding.reason.map { String($0.prefix(100)) } ?? "not caught",
                        ]
                    }
                ).text()
            }
            if !findings.allSatisfy(\.isAsExpected) { throw ExitCode.failure }
        }
    }
#endif
