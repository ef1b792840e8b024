#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshSimulation
    import MeshToolOutput

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct DeliveryCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "delivery",
            abstract: "Transports deliver reliable envelopes over datagrams, of which three in ten are lost.",
            discussion: "More keys: envelopes, delivered.")

        @Option(help: "Number of envelopes that each seed sends.")
        var envelopes: UInt64 = 10_000

        @Flag(help: "Also cut connections, report them falsely, refuse writes, and crash and relaunch both sides.")
        var faults = false

        @Flag(help: "A third peer floods the receiver and impersonates the sender.")
        var liar = false

        @Flag(help: "Wrap the transport at each end in a recorder.")
        var recorded = false

        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> DeliverySimulation {
            var simulation = DeliverySimulation(envelopes: envelopes, hasFaults: faults)
            simulation.hasLiar = liar
            simulation.isRecorded = recorded
            return simulation
        }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct WatchCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "watch",
            abstract: "A phone and its watches exchange reliable envelopes over simulated WatchConnectivity.",
            discussion: """
                Apps are suspended, killed and relaunched, and sessions report false reachability. More keys: envelopes, delivered, \
                offeredAgain, messages, userInfos, contexts.
                """)

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> WatchSimulation { WatchSimulation() }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct SessionsCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "sessions",
            abstract: "A phone and its watch share a session: equal ten seconds after the last tap.",
            discussion: """
                Apps go to the background, are suspended and killed, and clocks are set. With --store faulty the \
                devices are also out of range for a while, and power fails during writes, merges and copies. More keys: taps, \
                timerReadings, urgentTaps, wakes, slowestSeconds.
                """)

        @Option(help: "The apps' stores: perfect or faulty.", transform: named)
        var store: SimulatedStores = .perfect

        @Option(help: ArgumentHelp("Break this rule of the engine or of sessions on purpose.", valueName: "name"))
        var mutate: String?

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> SessionWatchSimulation {
            SessionWatchSimulation(losesPower: store == .faulty, mutation: rule)
        }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct LaunchesCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "launches",
            abstract: "An app launched without a store while the other device is off shows the newest state.",
            discussion: "Both apps are killed during a workout. More keys: taps, shown.")

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> ColdLaunchSimulation { ColdLaunchSimulation() }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct WakesCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "wakes",
            abstract: "A week of workouts that a phone begins while the watch app sleeps: urgent changes wake it.",
            discussion: """
                One day has more workouts than the system's budget has wakes, and on one the complication isn't on the \
                watch face. More keys: changes, urgent, wakes, wakesOfDays, soon (urgent changes that arrive within \
                15 s), late, medianSoonSeconds, slowestSoonSeconds, medianLateHours, slowestLateHours.
                """)

        @Flag(help: "Send the same changes without urgency.")
        var normal = false

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> WakeWeekSimulation {
            WakeWeekSimulation(isUrgent: !normal)
        }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct LiarCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "liar",
            abstract: "Whole apps, with a paired device that forges messages of every feature.",
            discussion: """
                Honest apps continue, accept their users' changes, and can read their stores after a relaunch. More \
                keys: forged, forgedByType, launches, slowestSeconds.
                """)

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> LiarSimulation { LiarSimulation(mutation: rule) }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct KeysCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "keys",
            abstract: "Stored keys of a phone and its watch are all synced in the end.",
            discussion: """
                Either app starts first, or both at once. There are absences of days, suspensions, kills and power cuts. More \
                keys: changes, slowestSeconds.
                """)

        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> KeyWatchSimulation {
            KeyWatchSimulation(mutation: rule)
        }
    }

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct LobbyCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "lobby",
            abstract: "Devices open, take over and end sessions at once: all follow one session in the end.",
            discussion: """
                The network is partitioned and apps crash. More keys: seedsByDevices, failuresByDevices, taps, slowestSeconds.
                """)

        @Option(
            help: ArgumentHelp(
                "Number of devices, 2 to 5. By default, seeds with two, three and five take turns.", valueName: "count")
        )
        var members: Int?

        @Flag(help: "Run each seed again with a recorder around every transport. Fails if the outcome differs.")
        var recorded = false

        @Flag(help: shrinkHelp) var shrink = false
        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            guard (2...5).contains(members ?? 2) else { throw ValidationError("--members must be from 2 to 5") }
        }

        func simulation(breaking rule: String?, on bus: PluginBus) -> LobbySimulation {
            LobbySimulation(devices: members, mutation: rule, comparesRecorder: recorded)
        }
    }

    struct SeriesCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "series",
            abstract: "Series of up to three devices converge over a bad network.",
            discussion: """
                Devices crash, commits are rejected and torn, and stores are lost and restored. One more key: samples.
                """)

        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> SeriesSimulation { SeriesSimulation() }
    }

    struct ResumeCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Clients of a stream, two gateways and their store: apps see each event once and in order.",
            discussion: """
                Connections drop, apps and gateways are killed, and the store is down, slow, empty or behind. More keys: \
                seen, connections.
                """)

        @Option(help: "Number of clients in each seed.")
        var clients = 6

        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            guard (1...10_000).contains(clients) else { throw ValidationError("--clients must be from 1 to 10000") }
        }

        func simulation(breaking rule: String?, on bus: PluginBus) -> ResumeSimulation {
            ResumeSimulation(clients: clients, mutation: rule)
        }
    }

    struct MailboxesCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "mailboxes",
            abstract: "Devices write to each other's mailboxes at two gateways with one store.",
            discussion: """
                Connections drop, gateways are killed, and the store is down, slow or empty. More keys: received, \
                connections.
                """)

        @Flag(help: "One of the devices forges frames.")
        var liar = false

        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> MailboxSimulation {
            MailboxSimulation(hasLiar: liar, mutation: rule)
        }
    }

    let traceHelp: ArgumentHelp = "With --seed: print every step on stderr."
    let shrinkHelp: ArgumentHelp =
        "Shrink the first failing seed: leave out all that it doesn't need to fail, and print the rest."

    /// Returns the value with that name.
    func named<Value: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Value {
        if let value = Value(rawValue: text) { return value }
        throw ValidationError("'\(text.printable())' is unknown. Use one of \(Value.allCases.map(\.rawValue).list)")
    }
#endif
