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
                Starts two `mesh play` processes, joined by a link, that share one workout. The phone starts it and records \
                a sample for each track point that has a time; the others are skipped and counted. A gap of more than \
                30 s is a pause and a resume, each kilometre a lap, the last point the finish. The watch joins late, after \
                a tenth of the steps or after 100, and catches up by the latest snapshot.

                From then on the two take turns with the taps (pause, resume, lap, finish), each in its place of the \
                recording, so that every run ends with the same digest. With `--concurrent` both make every tap at the \
                same moment; what that makes of the workout differs from run to run, and never between the two.

                With `--link udp` the two are given identities of their own, pair by a secret, find each other on the \
                network and talk through TLS and sealed datagrams, as `mesh peer` does; afterwards both are forgotten. With \
                `--link mqtt://host` they trust each other from the start and meet at that broker, and with `--link ws://…` at \
                that gateway; neither reads anything.

                Samples are a series beside the order of taps, and a tap waits for those before it. At speed 1 they come as \
                far apart as they were recorded; a pause lasts 5 s however long it was. At the end both sides print the \
                digest of their state; different digests, of the states or of the samples, are a failure.
                """)

        @OptionGroup var options: ReplayOptions

        @Flag(help: "Shows what passes in a browser of this machine, until Ctrl-C; says at which address.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        @Flag(help: "An object with 'converged', 'peers', 'rows' and 'recording' instead of the table.")
        var json = false

        func run() async throws {
            let plan = try options.plan(isSaid: true)
            let started = ContinuousClock.now
            let progress = ReplayProgress(plan: plan, isQuiet: json)
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
            let replay = PeerProcesses(options: options, plan: plan, progress: progress, homes: homes, record: record)
            let peers: [PeerSummary]
            do {
                defer { progress.end() }
                peers = try await replay.run()
            } catch let interruption as Interruption {
                throw ExitCode(128 + interruption.signal)
            }

            let result = ReplayResult(
                recording: RecordingSummary(file: options.gpx, plan: plan), peers: peers,
                seconds: (ContinuousClock.now - started).seconds)
            try json ? ToolOutput.print(json: try result.json()) : ToolOutput.print(result.text())
            #if Inspector
                // The page stays, and the recordings' folder goes with it.
                if reader != nil { await Interruption.wait() }
            #endif
            if !result.converged { throw ToolError("the peers do not agree") }
        }
    }
#endif
