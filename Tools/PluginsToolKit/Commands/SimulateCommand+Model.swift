#if CommandLineTools
    import ArgumentParser
    import MeshSimulation
    import MeshToolOutput

    /// The model of views; see `CompanySimulation`.
    extension SimulateCommand {
        func validateModel() throws {
            if exhaustive, seed != nil || fresh { throw ValidationError("--exhaustive has no seeds") }
            if let mutate, CompanyMutation(name: mutate) == nil {
                let known = CompanyMutation.allCases.map(\.name).joined(separator: ", ")
                throw ValidationError("no rule of the model is called '\(mutate.printable())'; there are \(known)")
            }
        }

        func simulateModel() throws {
            if mutations { return try proveModelMutations() }
            let broken = Set(mutate.flatMap(CompanyMutation.init(name:)).map { [$0] } ?? [])
            if exhaustive { return try searchModel(breaking: broken) }
            let simulation = CompanySimulation(members: members ?? 3, breaking: broken)
            let report = run { simulation.run($0, stopsAtFailure: first, trace: tracer, progress: $1) }
            try show(
                report,
                "\(report.accepted.grouped) taps, \(report.confirmed.grouped) confirmed; \(members ?? 3) members at first"
            )
        }

        private func searchModel(breaking broken: Set<CompanyMutation>) throws {
            let progress = ProgressLine()
            let bounds = broken.first.map { [CompanySimulation.bounds(for: $0)] } ?? CompanySimulation.searches
            let reports = bounds.map { bounds in
                CompanySimulation.search(bounds, breaking: broken) { report in
                    progress.show("\(report.states.grouped) states, depth \(report.depth)")
                }
            }
            progress.clear()
            try output.print(reports) {
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

        private func proveModelMutations() throws {
            let progress = ProgressLine()
            let findings = CompanySimulation.trials.map { trial in
                CompanySimulation.finding(of: trial, within: from..<(from + seeds)) { progress.show($0) }
            }
            progress.clear()
            try output.print(findings) {
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
