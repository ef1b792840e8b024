#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshBus
    import MeshDiagnostics
    import MeshSimulation
    import MeshToolOutput

    #if Inspector
        import MeshInspector
    #endif

    struct WorldsCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "worlds",
            abstract: "Engines of several peers converge over a bad network. The default kind.",
            discussion: """
                More keys: operations, frames, rollbacks, deepestRollback, snapshots, reincarnations, forks, confirmed, \
                lostWithStores, lostByForks, doubledByForks, refused, unequal (seeds by cause), and with --setting company \
                or hub: company (views, fences, joins, returns, replacements, relays, primariesLost, groupsLost).
                """)

        @Option(
            help: ArgumentHelp(
                "The peers' stores: perfect, or faulty with rejected, torn and forgotten commits.",
                valueName: "kind"), transform: named)
        var store: SimulatedStores = .perfect

        @Option(
            help: ArgumentHelp(
                """
                The situation: ordinary faults; liars among the peers; late peers, which make only the reference's calls \
                for a while; original, two apps that make only those calls over WatchConnectivity; lives, a peer without a store, \
                launched a thousand times; company, groups that members join and leave, and that remove absent members; hub, groups \
                whose members hear only the first one, and in which one may report members that don't exist.
                """, valueName: "kind"), transform: named)
        var setting: SimulationSetting?

        @Option(
            help: ArgumentHelp(
                "Number of peers. With --setting company 2 to 16, hub 3 to 16, liars 2 to 5.", valueName: "count"))
        var members: Int?

        @Flag(help: "All peers are one user's devices, so none needs an invitation.")
        var own = false

        @Option(help: ArgumentHelp("Only this feature. By default, all take turns.", valueName: "id"))
        var feature: String?

        @Option(
            help: ArgumentHelp(
                "Write the traffic and states of the first failing seed, or of --seed, for `mesh inspect`.",
                valueName: "file"))
        var record: String?

        @Flag(help: "Show that seed in a browser of this machine, until Ctrl-C. Not in every build.")
        var inspect = false

        @Flag(help: shrinkHelp) var shrink = false
        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            if own, setting == .original || setting == .incarnations {
                throw ValidationError("--own needs a --setting whose engines form groups, so not original or lives")
            }
            if let members {
                let counts: [SimulationSetting: ClosedRange<Int>] = [.membership: 2...16, .hub: 3...16, .liars: 2...5]
                guard let range = setting.flatMap({ counts[$0] }) else {
                    throw ValidationError("--members needs --setting company, hub or liars")
                }
                guard range.contains(members) else {
                    throw ValidationError(
                        "--members is from \(range.lowerBound) to \(range.upperBound) with this --setting")
                }
            }
            if inspect || record != nil { try validateRecording() }
        }

        private func validateRecording() throws {
            if breaking.mutations || setting == .original || setting == .incarnations {
                throw ValidationError(
                    "--inspect and --record can't be combined with --setting original, --setting lives or --mutations")
            }
            #if !Inspector
                if inspect {
                    throw ValidationError(
                        "this tool was built without the trait Inspector; build with it, or use --record and `mesh inspect`"
                    )
                }
            #endif
        }

        func simulation(breaking rule: String?, on bus: PluginBus) throws -> Simulation {
            Simulation(subjects: try subjects(on: bus), options: options(breaking: rule, setting ?? .ordinary))
        }

        private func options(breaking rule: String?, _ setting: SimulationSetting) -> SimulationOptions {
            SimulationOptions(mutation: rule, stores: store, setting: setting, members: members, isOwn: own)
        }

        private func subjects(on bus: PluginBus) throws -> [SimulationSubject] {
            let all = bus.contributions(to: .simulations).map(\.value)
            let chosen = all.filter { feature == nil || $0.id == feature }
            guard chosen.isEmpty else { return chosen }
            let known = all.map(\.id).sorted().list
            throw ToolError(
                feature.map { "there is no feature '\($0)'; there are \(known)" } ?? "no plugin offers a feature")
        }

        // MARK: - Broken rules

        var provenRules: [String] { Simulation.mutationNames + Simulation.sessionMutationNames }
        var rules: [String] { provenRules + Simulation.coveredMutationNames }

        func row(of rule: String, _ seeds: Range<UInt64>, on bus: PluginBus) throws -> MutationRow {
            let first = Simulation.knownSeed(for: rule) ?? seeds.lowerBound
            let range = first..<(first + (seeds.upperBound - seeds.lowerBound))
            if Simulation.sessionMutationNames.contains(rule) {
                guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else {
                    throw ToolError("breaking session rules needs a newer system")
                }
                // The known seeds are of runs without power cuts.
                let losesPower = Simulation.knownSeed(for: rule) == nil
                let simulation = SessionWatchSimulation(losesPower: losesPower, mutation: rule)
                return MutationRow(rule, simulation.run(range, stopsAtFailure: true))
            }
            if Simulation.traps(with: rule), let row = try rowOfTrap(rule, seeds) { return row }
            var options = options(breaking: rule, setting ?? Simulation.setting(for: rule))
            options.isOwn = own || Simulation.isOwn(for: rule)
            let simulation = Simulation(subjects: try subjects(on: bus), options: options)
            return MutationRow(rule, simulation.run(range, stopsAtFailure: true))
        }

        /// Runs a broken rule in a child process, because the rule may end the process.
        /// - Returns: nil if a seed fails before one ends the process.
        private func rowOfTrap(_ rule: String, _ seeds: Range<UInt64>) throws -> MutationRow? {
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments = [
                "simulate", "worlds", "--mutate", rule, "--store", store.rawValue, "--setting",
                (setting ?? Simulation.setting(for: rule)).rawValue, "--from", "\(seeds.lowerBound)", "--seeds",
                "\(seeds.upperBound - seeds.lowerBound)", "--first",
            ]
            if let feature { process.arguments? += ["--feature", feature] }
            let pipe = Pipe()
            process.standardError = pipe
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            let output = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationReason == .uncaughtSignal else {
                guard process.terminationStatus == 0 else { return nil }
                return MutationRow(rule, seed: nil, seeds: seeds.upperBound - seeds.lowerBound, reason: nil)
            }
            // `TrapNotice` prints this line.
            let line = String(decoding: output, as: UTF8.self).split(separator: "\n").last { $0.hasPrefix("seed ") }
            let reported = line.flatMap { UInt64($0.dropFirst("seed ".count)) } ?? seeds.lowerBound
            let seed = seeds.contains(reported) ? reported : seeds.lowerBound
            return MutationRow(rule, seed: seed, seeds: seed - seeds.lowerBound + 1, reason: "the process trapped")
        }

        // MARK: - Recording

        /// Runs the first failing seed, or `--seed`, once more and shows the recorded traffic.
        /// - Throws: `ToolError` for a file that can't be written.
        func finish(_ report: SeedReport, on bus: PluginBus) async throws {
            guard inspect || record != nil, let seed = report.failures.first?.seed ?? shared.seed else { return }
            let entries = Locked<[DiagnosticsEntry]>([])
            var options = options(breaking: mutate, setting ?? .ordinary)
            options.record = { entry in
                entries.withLock { entries in
                    guard entries.count < DiagnosticsRecording.entriesMax else { return }
                    var entry = entry
                    entry.number = UInt64(entries.count) + 1
                    entries.append(entry)
                }
            }
            let simulation = Simulation(subjects: try subjects(on: bus), options: options)
            var schedule = simulation.schedule(of: seed)
            if shrink, let shrunk = simulation.shrunk(schedule) {
                schedule = shrunk
                entries.withLock { $0 = [] }
            }
            _ = simulation.run(schedule, trace: nil)
            let recording = DiagnosticsRecording(entries: entries.withLock { $0 })
            if let record {
                try OutputFile(record, option: "--record").write(recording.jsonLines)
                ToolOutput.remark("Seed \(seed) is in '\(record)'. Show it with `mesh inspect`.")
            }
            #if Inspector
                if inspect {
                    let inspector = try await Inspector.start(showing: recording)
                    ToolOutput.remark("Seed \(seed) is at \(inspector.address) until you press Ctrl-C.")
                    while true { try await Task.sleep(for: .seconds(3600)) }
                }
            #endif
        }
    }
#endif
