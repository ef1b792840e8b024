#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshDiagnostics
    import MeshSimulation
    import MeshToolOutput

    struct SimulateCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "simulate",
            abstract:
                "Run engines against each other over a bad network in virtual time, and check that they converge.",
            discussion: """
                Everything follows from the seed. Prints failing seeds with what went wrong in them, and exits with 1 when \
                there are any. Keys with --json: seeds, failures (seed, reason), operations, frames, faults (counts by \
                kind), faultSeeds (seeds in which the kind happened), rollbacks, deepestRollback, snapshots, \
                reincarnations, forks, confirmed, lostWithStores, lostByForks, doubledByForks, refused, \
                company (with --setting company: views, fences, joins, returns, replacements, relays, primariesLost, \
                groupsLost), simulatedSeconds, wallSeconds. Rows with --mutations: mutation, isCaught, seed, seeds, reason. Rows with \
                --delivery: seed, failure, envelopes, delivered, faults, simulatedSeconds, wallSeconds. Keys with --watch: \
                seeds, failures (seed, reason), envelopes, delivered, offeredAgain, messages, userInfos, contexts, faults, \
                simulatedSeconds, wallSeconds. Keys with --keys: seeds, failures (seed, reason), changes, faults, slowestSeconds, \
                simulatedSeconds, wallSeconds. Keys with --lobby: seeds, failures (seed, reason), seedsByDevices, \
                failuresByDevices, taps, faults, slowestSeconds, simulatedSeconds, wallSeconds. Keys with --series: seeds, failures (seed, reason), samples, faults, \
                wallSeconds. Keys with --resume: seeds, failures (seed, reason), seen, connections, faults, \
                simulatedSeconds, wallSeconds. Keys with --mailboxes: seeds, failures (seed, reason), received, connections, \
                faults, simulatedSeconds, wallSeconds. Keys with --model: members, seeds, failures (seed, reason), accepted, confirmed, faults, \
                wallSeconds. Rows with --model --exhaustive: bounds, states, transitions, depth, ends, \
                statesAfterFirstView, statesWithConfirmed, confirmedMost, isComplete, violation (reason, steps), \
                wallSeconds. Rows with --model --mutations: mutation, isExpectedToShow, isCaught, members, seed, depth, \
                states, reason.
                """)

        @Option(help: "How many seeds.")
        var seeds: UInt64 = 1_000

        @Option(help: "The first seed.")
        var from: UInt64 = 0

        @Flag(help: "Draw the first seed from the date and the time, and print it on stderr.")
        var fresh = false

        @Option(help: "This seed only; prints its schedule.")
        var seed: UInt64?

        @Flag(help: "With --seed: tell every step on stderr.")
        var trace = false

        @Flag(help: "Of the first failing seed, drop what can be dropped while it still fails, and print the rest.")
        var shrink = false

        @Option(
            help: ArgumentHelp(
                "What peers keep their sessions in: perfect, or faulty with refused, torn and forgotten commits.",
                valueName: "kind"),
            transform: stores)
        var store: SimulatedStores = .perfect

        @Option(
            help: ArgumentHelp(
                """
                What to look for: ordinary faults; liars among the peers; late peers, which use only the reference's calls \
                for a while; original, two apps that use nothing else over WatchConnectivity; lives, a peer without a store, a \
                thousand times; company, groups that members join and leave, and that let go whoever stays away; hub, groups \
                whose members hear only the first one, and one of which may report members that don't exist.
                """, valueName: "kind"),
            transform: settings)
        var setting: SimulationSetting?

        @Option(
            help: ArgumentHelp(
                """
                With --setting company: of so many peers, 2 to 16; hub: 3 to 16. With --model: how many found the group; else 3. With \
                --lobby: so many devices, 2 to 5; two, three and five take turns otherwise.
                """,
                valueName: "count"))
        var members: Int?

        @Flag(help: "All peers are devices of one user, who invites none of them.")
        var own = false

        @Flag(help: "Stop at the first failing seed.")
        var first = false

        @Option(help: ArgumentHelp("Break this rule of the engine on purpose.", valueName: "name"))
        var mutate: String?

        @Flag(help: "Break every rule in turn; fails unless each is caught within --seeds. Not in every build.")
        var mutations = false

        @Option(help: ArgumentHelp("Only this feature; all take turns otherwise.", valueName: "id"))
        var feature: String?

        @Flag(
            help: """
                Instead of engines, simulate transports: reliable envelopes over datagrams of which three in ten are lost.
                """)
        var delivery = false

        @Option(help: "With --delivery: how many envelopes each seed sends.")
        var envelopes: UInt64 = 10_000

        @Flag(help: "With --delivery: also cut connections, lie about them, and let both sides die and come back.")
        var faults = false

        @Flag(
            help: """
                With --lobby: play each seed once more with a recorder around every transport; fails where the outcome is not the \
                same. With --delivery: with recorders.
                """)
        var recorded = false

        @Flag(help: "With --delivery: a third peer floods the receiver and speaks in the sender's name.")
        var liar = false

        @Flag(
            help: """
                Instead of engines, simulate a phone and its watches: reliable envelopes over WatchConnectivity's stand-in, \
                while apps are suspended, killed and launched anew, and sessions lie.
                """)
        var watch = false

        @Flag(
            help: """
                With --watch: taps on a session that phone and watch share, with moments in the background, suspensions and \
                kills; equal ten seconds after the last tap. With --store faulty also apart for a while, and with power cuts \
                during writes, merges and copies.
                """)
        var sessions = false

        @Flag(
            help: """
                Instead of engines, simulate stored keys on a phone and its watch: either first or both at once, absences of days, \
                suspensions, kills and power cuts; all synced in the end. With --mutations rules are broken in turn.
                """)
        var keys = false

        @Flag(
            help: """
                Instead of engines, simulate devices that begin a session at once, take over, invite and end, while the network \
                parts them and apps crash; in the end all follow one session. With --mutations its rules are broken in turn.
                """)
        var lobby = false

        @Flag(
            help: """
                Instead of engines, simulate series: samples of up to three devices over a bad network, with crashes, refused \
                and torn commits, lost stores and restored ones.
                """)
        var series = false

        @Flag(
            help: """
                Instead of engines, simulate clients of a stream, two gateways and their store: connections that drop, apps and \
                gateways that are killed, a store that is down, slow, empty or behind. With --mutations rules are broken in turn.
                """)
        var resume = false

        @Option(help: "With --resume: how many clients each seed has.")
        var clients = 6

        @Flag(
            help: """
                Instead of engines, simulate devices that write into each other's mailboxes at two gateways with one store: \
                connections that drop, gateways that are killed, a store that is down, slow or empty. With --mutations rules \
                are broken in turn.
                """)
        var mailboxes = false

        @Flag(
            help: """
                Instead of engines, simulate a model of groups that go on without a member that is away: votes on views, lost \
                stores, returns. With --mutations its rules are broken in turn; fails unless those are caught that are
                expected to show.
                """)
        var model = false

        @Flag(help: "With --model: visit every state of a few members instead of seeds.")
        var exhaustive = false

        @Option(
            help: ArgumentHelp(
                "Of the first failing seed, or of --seed, write what passed and how peers stood, for `mesh inspect`.",
                valueName: "file"))
        var record: String?

        @Flag(help: "Show that seed in a browser of this machine, until Ctrl-C. Not in every build.")
        var inspect = false

        @OptionGroup var output: OutputOptions

        mutating func validate() throws {
            if fresh {
                guard from == 0, seed == nil else { throw ValidationError("--fresh goes without --from and --seed") }
                from = Self.firstSeed(at: Date())
            }
            guard seeds > 0, !from.addingReportingOverflow(seeds).overflow else {
                throw ValidationError("--seeds must be at least 1, and --from + --seeds fit into 64 bits")
            }
            if seed == .max { throw ValidationError("--seed must be below 2^64 - 1") }
            if trace, seed == nil { throw ValidationError("--trace needs --seed") }
            if own, setting == .original || setting == .lives || !simulatesEngines {
                throw ValidationError("--own is for engines that form groups: every --setting but original and lives")
            }
            if inspect || record != nil { try validateRecording() }
            if lobby { return try validateLobby() }
            if let members, !(2...16).contains(members) || setting != .company && setting != .hub && !model {
                throw ValidationError(
                    "--members is from 2 to 16, and for --setting company and hub, --model and --lobby")
            }
            if setting == .hub, members == 2 { throw ValidationError("--setting hub has 3 members at least") }
            if model { return try validateModel() }
            if resume { return try validateResume() }
            if mailboxes { return try validateMailboxes() }
            if keys { return try validateKeys() }
            if exhaustive { throw ValidationError("--exhaustive needs --model") }
            if mutations || mutate != nil, !Simulation.canBreakRules {
                throw ValidationError("this build breaks no rules; build it with MESH_MUTATIONS=1 in the environment")
            }
            let rules =
                Simulation.mutationNames + Simulation.sessionMutationNames + Simulation.coveredMutationNames
            if let mutate, !rules.contains(mutate) {
                let known = rules.joined(separator: ", ")
                throw ValidationError("no rule is called '\(mutate.printable())'; there are \(known)")
            }
        }

        private var simulatesEngines: Bool {
            ![delivery, keys, watch, lobby, series, resume, mailboxes, model].contains(true)
        }

        func run(on bus: PluginBus) async throws {
            if fresh { ToolOutput.remark("The first seed is \(from).") }
            if delivery { return try simulateDelivery() }
            if keys { return try simulateKeys() }
            if watch, sessions { return try simulateSessions() }
            if watch { return try simulateWatch() }
            if lobby { return try simulateLobby() }
            if series { return try simulateSeries() }
            if resume { return try simulateResume() }
            if mailboxes { return try simulateMailboxes() }
            if model { return try simulateModel() }
            let subjects = try subjects(on: bus)
            if mutations { return try proveMutations(subjects) }

            let simulation = Simulation(
                subjects: subjects,
                options: SimulationOptions(
                    mutation: mutate, stores: store, setting: setting ?? .ordinary, members: members, isOwn: own,
                    trace: tracer))
            let progress = ProgressLine()
            let range = seed.map { $0..<($0 + 1) } ?? from..<(from + seeds)
            let report = simulation.run(range) {
                (shrink || first) && !$0.failures.isEmpty
            } progress: { report in
                guard report.seeds % 64 == 0 else { return }
                progress.show("\(report.seeds.grouped) seeds, \(report.failures.count.grouped) failing")
            }
            progress.clear()
            try output.print(object: report) { text(of: report, simulation) }
            if let seed = report.failures.first?.seed ?? seed { try await show(seed, of: subjects) }
            if !report.failures.isEmpty { throw ExitCode.failure }
        }

        /// Year, month, day, hour, minute and second in UTC, by two digits each, and room for a million seeds: 261126153000000000.
        static func firstSeed(at date: Date) -> UInt64 {
            let digits = ISO8601DateFormatter().string(from: date).filter(\.isNumber)
            return UInt64(digits.dropFirst(2).prefix(12)).map { $0 * 1_000_000 } ?? 0
        }

        private static func stores(_ text: String) throws -> SimulatedStores {
            guard let stores = SimulatedStores(rawValue: text) else {
                let known = SimulatedStores.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("no store is called '\(text.printable())'; there are \(known)")
            }
            return stores
        }

        private static func settings(_ text: String) throws -> SimulationSetting {
            guard let setting = SimulationSetting(rawValue: text) else {
                let known = SimulationSetting.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("no setting is called '\(text.printable())'; there are \(known)")
            }
            return setting
        }

        var tracer: (@Sendable (String) -> Void)? {
            guard trace else { return nil }
            return { ToolOutput.remark($0) }
        }

        private func subjects(on bus: PluginBus) throws -> [SimulationSubject] {
            let all = bus.contributions(to: .simulations).map(\.value)
            let chosen = all.filter { feature == nil || $0.id == feature }
            guard chosen.isEmpty else { return chosen }
            let known = all.map(\.id).sorted().joined(separator: ", ")
            throw ToolError(
                feature.map { "no feature is called '\($0)'; there are \(known)" } ?? "no plugin offers a feature")
        }

        private func proveMutations(_ subjects: [SimulationSubject]) throws {
            let progress = ProgressLine()
            let engineRows = try Simulation.mutationNames.map { name in
                progress.show(name)
                if Simulation.traps(with: name) { return try rowOfTrap(name, subjects) }
                return row(name, subjects)
            }
            let sessionRows = try Simulation.sessionMutationNames.map { name in
                progress.show(name)
                return try sessionRow(name)
            }
            progress.clear()
            try show(engineRows + sessionRows)
        }

        func show(_ rows: [MutationRow]) throws {
            try output.print(rows) {
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

    extension SimulateCommand {
        private func row(_ name: String, _ subjects: [SimulationSubject]) -> MutationRow {
            let setting = setting ?? Simulation.setting(for: name)
            let simulation = Simulation(
                subjects: subjects,
                options: SimulationOptions(
                    mutation: name, stores: store, setting: setting, members: members,
                    isOwn: own || Simulation.isOwn(for: name)))
            return MutationRow(name, simulation.run(range(for: name)) { !$0.failures.isEmpty })
        }

        private func sessionRow(_ name: String) throws -> MutationRow {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("rules of sessions need a newer system")
            }
            // The known seeds are of runs without power cuts.
            var simulation = SessionWatchSimulation(losesPower: Simulation.knownSeed(for: name) == nil)
            simulation.mutation = name
            return MutationRow(name, simulation.run(range(for: name), stopsAtFailure: true))
        }

        private func range(for mutation: String) -> Range<UInt64> {
            let first = Simulation.knownSeed(for: mutation) ?? from
            return first..<(first + seeds)
        }

        /// A broken rule that ends the process gets one of its own.
        private func rowOfTrap(_ name: String, _ subjects: [SimulationSubject]) throws -> MutationRow {
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments = [
                "simulate", "--mutate", name, "--setting", (setting ?? Simulation.setting(for: name)).rawValue,
                "--store", store.rawValue, "--from", "\(from)", "--seeds", "\(seeds)", "--first",
            ]
            if let feature { process.arguments? += ["--feature", feature] }
            let pipe = Pipe()
            process.standardError = pipe
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let said = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationReason == .uncaughtSignal else {
                // It has found a seed that fails before one that ends the process, or none at all.
                return process.terminationStatus == 0
                    ? MutationRow(name, seed: nil, seeds: seeds, reason: nil) : row(name, subjects)
            }
            // See TrapNotice.
            let line = String(decoding: said, as: UTF8.self).split(separator: "\n").last { $0.hasPrefix("seed ") }
            let told = line.flatMap { UInt64($0.dropFirst("seed ".count)) } ?? from
            let seed = (from..<from + seeds).contains(told) ? told : from
            return MutationRow(name, seed: seed, seeds: seed - from + 1, reason: "the process is killed")
        }
    }

    extension SimulateCommand {
        private func simulateDelivery() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("--delivery needs a newer system")
            }
            var simulation = DeliverySimulation(envelopes: envelopes, hasFaults: faults)
            simulation.hasLiar = liar
            simulation.isRecorded = recorded
            let progress = ProgressLine()
            let range = seed.map { $0..<($0 + 1) } ?? from..<(from + seeds)
            var rows: [DeliverySimulation.Report] = []
            for seed in range {
                progress.show("seed \(seed)")
                rows.append(simulation.run(seed: seed))
            }
            progress.clear()
            try output.print(rows) {
                let columns: [TableColumn] = [
                    .number("Seed"), .number("Envelopes"), .number("Seconds simulated"), .number("Seconds"),
                    .number("A second"), .number("Faults"), "Failure",
                ]
                return Table(
                    columns: columns,
                    rows: rows.map { row in
                        [
                            "\(row.seed)", row.delivered.grouped, row.simulatedSeconds.figure, row.wallSeconds.figure,
                            row.wallSeconds > 0 ? (Double(row.delivered) / row.wallSeconds).figure : "-",
                            "\(row.faults.values.reduce(0, +))", row.failure ?? "",
                        ]
                    }
                ).text()
            }
            if rows.contains(where: { $0.failure != nil }) { throw ExitCode.failure }
        }
    }

    extension SimulateCommand {
        private func simulateWatch() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("--watch needs a newer system")
            }
            let simulation = WatchSimulation()
            let report = run { simulation.run($0, trace: tracer, progress: $1) }
            try show(
                report,
                """
                \(report.delivered.grouped) of \(report.envelopes.grouped) envelopes delivered once and in order, \
                \(report.offeredAgain.grouped) offered again after a crash
                \(report.messages.grouped) messages, \(report.userInfos.grouped) user infos, \
                \(report.contexts.grouped) contexts
                """)
        }

        private func simulateSessions() throws {
            guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                throw ToolError("--watch needs a newer system")
            }
            var simulation = SessionWatchSimulation(losesPower: store == .faulty)
            simulation.mutation = mutate
            let report = run { simulation.run($0, trace: tracer, stopsAtFailure: first, progress: $1) }
            try show(
                report,
                """
                \(report.taps.grouped) taps, equal at the latest \(report.slowestSeconds.figure) s after the last
                \(report.timerReadings.grouped) readings of timers, \((report.faults["clock set"] ?? 0).grouped) clocks set
                """)
        }

        private func simulateSeries() throws {
            let report = run { SeriesSimulation().run($0, stopsAtFailure: first, progress: $1) }
            try show(report, "\(report.samples.grouped) samples recorded")
        }

        func run<Report: SeedReport>(
            _ body: (Range<UInt64>, _ progress: (Report) -> Void) -> Report
        ) -> Report {
            let progress = ProgressLine()
            defer { progress.clear() }
            return body(seed.map { $0..<($0 + 1) } ?? from..<(from + seeds)) { report in
                guard report.seeds % 16 == 0 else { return }
                progress.show("\(report.seeds.grouped) seeds, \(report.failures.count.grouped) failing")
            }
        }

        /// - Parameter account: what this simulation alone counts.
        func show(_ report: some SeedReport, _ account: String) throws {
            try output.print(object: report) {
                let failures = report.failures.map { "seed \($0.seed): \($0.reason)" }
                let table = Table(
                    columns: ["Fault", .number("Times")],
                    rows: report.faults.sorted { $0.key < $1.key }.map { [$0.key, $0.value.grouped] })
                let counts = """
                    \(report.seeds.grouped) seeds, \(report.failures.count.grouped) failing; \(account)
                    \(report.simulatedSeconds.figure) s simulated in \(report.wallSeconds.figure) s
                    """
                return ([counts] + failures + [table.text()]).joined(separator: "\n\n")
            }
            if !report.failures.isEmpty { throw ExitCode.failure }
        }
    }

    /// What became of a rule that was broken on purpose.
    struct MutationRow: Encodable {
        let mutation: String
        let isCaught: Bool
        /// The first that failed.
        let seed: UInt64?
        /// How many were run.
        let seeds: Int
        let reason: String?

        init(_ mutation: String, _ report: SimulationReport) {
            let first = report.failures.first
            self.init(mutation, seed: first?.seed, seeds: UInt64(report.seeds), reason: first?.reason)
        }

        init(_ mutation: String, _ report: some SeedReport) {
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

    extension SimulateCommand {
        private func text(of report: SimulationReport, _ simulation: Simulation) -> String {
            var parts = [Self.counts(of: report)]
            parts += report.failures.prefix(3).map { account(of: $0, simulation) }
            if report.failures.count > 3 {
                parts.append("failing too: " + report.failures.dropFirst(3).map { "\($0.seed)" }.joined(separator: " "))
            }
            if report.failures.isEmpty, let seed { parts.append(simulation.schedule(of: seed).description) }
            return parts.joined(separator: "\n\n")
        }

        private func account(of failure: SimulationReport.Failure, _ simulation: Simulation) -> String {
            let whole = simulation.schedule(of: failure.seed)
            let schedule = shrink ? simulation.shrunk(whole) ?? whole : whole
            let reason = simulation.outcome(of: schedule).failure ?? failure.reason
            return """
                seed \(failure.seed), feature \(simulation.subject(of: failure.seed).id): \(reason)
                \(schedule)
                replay with: \(replay(failure.seed))
                """
        }

        private func replay(_ seed: UInt64) -> String {
            var words = ["plugins-tool simulate --seed \(seed)"]
            if let setting { words.append("--setting \(setting)") }
            if let members { words.append("--members \(members)") }
            if own { words.append("--own") }
            if store != .perfect { words.append("--store \(store)") }
            if let mutate { words.append("--mutate \(mutate)") }
            if let feature { words.append("--feature \(feature)") }
            words.append("--shrink")
            return words.joined(separator: " ")
        }

        private static func counts(of report: SimulationReport) -> String {
            let perSecond = report.wallSeconds > 0 ? Double(report.frames) / report.wallSeconds : 0
            let seeds = """
                \(report.seeds.grouped) seeds, \(report.failures.count.grouped) failing; \
                \(report.operations.grouped) operations, \(report.frames.grouped) frames (\(perSecond.figure) a second); \
                \(report.simulatedSeconds.figure) s simulated in \(report.wallSeconds.figure) s
                \(report.rollbacks.grouped) rollbacks (deepest \(report.deepestRollback)), \
                \(report.snapshots.grouped) snapshots taken, \(report.confirmed.grouped) events confirmed, \
                \(report.reincarnations.grouped) reincarnations, \(report.forks.grouped) forks, \
                \(report.lostWithStores.grouped) events lost with their stores, \(report.lostByForks.grouped) lost and \
                \(report.doubledByForks.grouped) doubled by restored stores, \(report.refused.grouped) refused
                """
            let unequal = report.unequal.sorted { $0.key < $1.key }.map { cause, count in
                "\n\(count.grouped) seeds end unequal: \(cause)"
            }.joined()
            let company = report.company.map { company in
                """

                \(company.views.grouped) views, \(company.fences.grouped) fences, \(company.joins.grouped) joins, \
                \(company.returns.grouped) returns, \(company.replacements.grouped) replacements, \
                \(company.relays.grouped) relays, \(company.primariesLost.grouped) primaries lost, \
                \(company.groupsLost.grouped) groups lost
                """
            }
            let kinds = report.faults.sorted { $0.key < $1.key }
            let table = Table(
                columns: ["Fault", .number("Times"), .number("Seeds")],
                rows: kinds.map { [$0.key, $0.value.grouped, (report.faultSeeds[$0.key] ?? 0).grouped] })
            return seeds + unequal + (company ?? "") + "\n\n" + table.text()
        }
    }
#endif
