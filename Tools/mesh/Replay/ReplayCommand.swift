#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshToolOutput
    import WorkoutExample

    #if Inspector
        import MeshInspector
    #endif

    struct ReplayCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "replay", abstract: "Replays a recorded workout on a phone and a watch, each a process.",
            discussion: """
                Starts two `mesh play` processes that share one workout over a link. The phone starts the workout and records a \
                sample for each track point that has a time; it counts and skips the others. A gap of more than 30 s is a \
                pause and a resume, each kilometre ends a lap, and the last point is the finish. The watch joins after a \
                tenth of the steps, or after 100, and catches up from a snapshot.

                From then on the two take turns with the taps (pause, resume, lap, finish), so every run ends with the same \
                digest. A tap waits for the samples before it. With `--concurrent` both make every tap at the same moment; \
                then the workout differs from run to run, but never between the two.

                With `--live` a terminal shows what both report while they play: the state of each, taps on their way, and \
                how both meet again after some seconds out of range, in which each has tapped. Ctrl-C ends it.

                With `--link udp` the two get identities, pair by a secret, find each other on the network and talk through \
                TLS and sealed datagrams, as `mesh peer` does. Afterwards both identities are deleted. With \
                `--link mqtt://host` they trust each other from the start and meet at that broker, with `--link ws://…` at \
                that gateway. Neither can read what passes.

                At the end both peers report the digest of their state and of their samples. The exit status is 1 if the \
                digests differ.
                """)

        @OptionGroup var options: ReplayOptions

        @Flag(
            help: """
                Shows both peers while they play, if standard output is a terminal. Over pipes each message then takes \
                400 ms, and for some seconds the two are out of range.
                """)
        var live = false

        @Flag(help: "Serves a page that shows what passes, until Ctrl-C, and prints its address.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        @Flag(
            help:
                "Prints JSON instead of the table: one object with 'converged', 'peers', 'rows' and 'recording', on one line."
        )
        var json = false

        // Delay of everything that the peers send in a live view.
        private static let delay = Duration.milliseconds(400)
        // Duration of a live view, without the time that the peers wait for each other.
        private static let liveSeconds = 18.0

        func validate() throws {
            guard !live || !json else {
                throw ValidationError("--live can't be combined with --json")
            }
            guard !live || options.speed != .asFastAsPossible else {
                throw ValidationError("--live can't show a replay at --speed max; choose another speed")
            }
        }

        func run() async throws {
            var options = options
            let plan = try options.plan(isSaid: true)
            if live, options.speed == nil {
                let seconds = plan.duration(at: .times(1)) / .seconds(1)
                options.speed = .times(max(0.1, min(10_000, (seconds / Self.liveSeconds).rounded())))
            }
            let delay = live && options.link == .pipe ? Self.delay : nil
            let title = "\(options.gpx ?? "Built-in run") at \(options.pace.defaultValueDescription) times its speed"
            let screen = live ? LiveScreen(LiveScene(title: title, delay: delay)) : nil
            let started = ContinuousClock.now
            let display: any ReplayDisplay = screen ?? ReplayProgress(plan: plan, isQuiet: json)
            let secrets = try options.environment()
            let homes = options.link.needsHomes ? try await ReplayHomes(options: options) : nil
            defer { homes?.remove() }
            #if Inspector
                let reader = inspect ? try await RecordingReader(inspection) : nil
                let names = ReplayPlan.Actor.allCases.map(\.rawValue)
                let reading = reader.map { reader in Task { try await reader.run(names) } }
                defer { reading?.cancel() }
                if let reader { ToolOutput.remark("The inspector is at \(reader.inspector.address) until Ctrl-C.") }
                let record: @Sendable (ReplayPlan.Actor) -> String? = { reader?.path(of: $0.rawValue) }
            #else
                if inspect { throw ToolError.needsInspector }
                let record: @Sendable (ReplayPlan.Actor) -> String? = { _ in nil }
            #endif
            let replay = PeerProcesses(
                options: options, plan: plan, display: display, isLive: screen != nil,
                delay: screen == nil ? nil : delay, homes: homes, secrets: secrets, record: record)
            let peers: [PeerSummary]
            do {
                var isComplete = false
                defer { display.end(isComplete: isComplete) }
                peers = try await replay.run()
                isComplete = true
            } catch let interruption as Interruption {
                throw ExitCode(128 + interruption.signal)
            }

            let result = ReplayResult(
                recording: RecordingSummary(file: options.gpx, plan: plan), peers: peers,
                seconds: (ContinuousClock.now - started).seconds)
            try json ? ToolOutput.print(json: try result.json()) : ToolOutput.print(result.text())
            #if Inspector
                // The page stays open until interrupted, because the recordings are deleted at the end.
                if reader != nil { await Interruption.wait() }
            #endif
            if !result.converged {
                throw ToolError("the peers ended with different workouts; replay with --inspect to see the traffic")
            }
        }
    }
#endif
