#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshSimulation
    import MeshToolOutput

    @available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
    struct DeliveryCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "delivery",
            abstract: "Transports: reliable envelopes over datagrams of which three in ten are lost.",
            discussion: "More keys: envelopes, delivered.")

        @Option(help: "How many envelopes each seed sends.")
        var envelopes: UInt64 = 10_000

        @Flag(help: "Also cut connections, lie about them, and let both sides die and come back.")
        var faults = false

        @Flag(help: "A third peer floods the receiver and speaks in the sender's name.")
        var liar = false

        @Flag(help: "With a recorder around the transport at either end.")
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
            abstract: "A phone and its watches: reliable envelopes over WatchConnectivity's stand-in.",
            discussion: """
                Apps are suspended, killed and launched anew, and sessions lie. More keys: envelopes, delivered, \
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
            abstract: "A session that a phone and its watch share: equal ten seconds after the last tap.",
            discussion: """
                Apps have moments in the background, are suspended and killed, and clocks are set. With --store faulty the \
                devices are also apart for a while, and the power goes during writes, merges and copies. More keys: taps, \
                timerReadings, urgentTaps, wakes, slowestSeconds.
                """)

        @Option(help: "What apps keep the session in: perfect or faulty.", transform: named)
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
            abstract: "A launch without a store while the other device is dead: the app shows the newest state.",
            discussion: "Both apps are killed at a moment of a workout. More keys: taps, shown.")

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
            abstract: "Whole apps and a paired device that forges messages of every feature.",
            discussion: """
                Honest apps live on, take what their user does, and read their stores when they are launched again. More \
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
            abstract: "Stored keys on a phone and its watch: all synced in the end.",
            discussion: """
                Either app is first or both at once; there are absences of days, suspensions, kills and power cuts. More \
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
            abstract: "Devices that begin a session at once, take over, invite and end: all follow one in the end.",
            discussion: """
                The network parts them and apps crash. More keys: seedsByDevices, failuresByDevices, taps, slowestSeconds.
                """)

        @Option(help: ArgumentHelp("2 to 5 devices; two, three and five take turns when absent.", valueName: "count"))
        var members: Int?

        @Flag(help: "Play each seed once more with a recorder around every transport; fails where the outcome differs.")
        var recorded = false

        @Flag(help: shrinkHelp) var shrink = false
        @Flag(help: traceHelp) var trace = false
        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            guard (2...5).contains(members ?? 2) else { throw ValidationError("--members is from 2 to 5") }
        }

        func simulation(breaking rule: String?, on bus: PluginBus) -> LobbySimulation {
            LobbySimulation(devices: members, mutation: rule, comparesRecorder: recorded)
        }
    }

    struct SeriesCommand: SeedCommand {
        static let configuration = CommandConfiguration(
            commandName: "series",
            abstract: "Series: samples of up to three devices over a bad network.",
            discussion: """
                Devices crash, commits are refused and torn, and stores are lost and restored. One more key: samples.
                """)

        @OptionGroup var shared: SeedOptions

        func simulation(breaking rule: String?, on bus: PluginBus) -> SeriesSimulation { SeriesSimulation() }
    }

    struct ResumeCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Clients of a stream, two gateways and their store: apps see every event once and in order.",
            discussion: """
                Connections drop, apps and gateways are killed, and the store is down, slow, empty or behind. More keys: \
                seen, connections.
                """)

        @Option(help: "How many clients each seed has.")
        var clients = 6

        @OptionGroup var breaking: RuleOptions
        @OptionGroup var shared: SeedOptions

        func validateKind() throws {
            guard (1...10_000).contains(clients) else { throw ValidationError("--clients is from 1 to 10000") }
        }

        func simulation(breaking rule: String?, on bus: PluginBus) -> ResumeSimulation {
            ResumeSimulation(clients: clients, mutation: rule)
        }
    }

    struct MailboxesCommand: RuleCommand {
        static let configuration = CommandConfiguration(
            commandName: "mailboxes",
            abstract: "Devices that write into each other's mailboxes at two gateways with one store.",
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

    let traceHelp: ArgumentHelp = "With --seed: tell every step on stderr."
    let shrinkHelp: ArgumentHelp =
        "Of the first failing seed, drop what can be dropped while it still fails, and print the rest."

    /// Returns the value with that name.
    func named<Value: RawRepresentable<String> & CaseIterable>(_ text: String) throws -> Value {
        if let value = Value(rawValue: text) { return value }
        throw ValidationError("there is no '\(text.printable())'; there are \(Value.allCases.map(\.rawValue).list)")
    }
#endif
