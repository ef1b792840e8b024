#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshSeries
    import MeshSession
    import MeshToolOutput
    import MeshTransport
    import WorkoutExample

    struct PlayCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "play", abstract: "Plays one peer of a replay over a link.",
            discussion: """
                With `--link pipe` the link is standard input and output, and reports go to standard error. With \
                `--link unix:/path` the peers meet at a Unix socket, in either order. A peer that was killed may be started \
                again and finds its place in the plan (unless `--concurrent`). Give both peers the same recording: each \
                derives the same plan from it and plays its own part. With `--link udp` or a broker each has a home in which \
                it is paired with the other peer only.
                """)

        @Option(help: "The peer to be: phone or watch.")
        var name: ReplayPlan.Actor

        @OptionGroup var options: ReplayOptions

        @Option(
            help: ArgumentHelp(
                "With --link udp or a broker: the folder with identity and pairing.", valueName: "folder"))
        var home: String?

        @Option(help: ArgumentHelp("Records the traffic as JSON Lines.", valueName: "file", visibility: .hidden))
        var record: String?

        @Flag(
            help: ArgumentHelp(
                "Reports each tap and the state too, and for some steps doesn't wait for the other peer.",
                visibility: .hidden))
        var live = false

        @Flag(help: "Prints reports as JSON, one object a line: 'progress', 'finished' or 'failed'.")
        var json = false

        @Flag(help: ArgumentHelp("Exits with the process that started it.", visibility: .private))
        var asChild = false

        @MainActor
        func run() async throws {
            if asChild { followParent() }
            do {
                report(.finished(summary: try await play()))
            } catch {
                report(.failed(reason: "\(error)"))
                throw ExitCode.failure
            }
        }

        @MainActor
        private func play() async throws -> PeerSummary {
            let started = ContinuousClock.now
            let plan = try options.plan()
            let codecs = try Codecs()
            let codec = CountingCodec(try codecs.named(options.codec))
            var configuration = DeliveryConfiguration()
            configuration.codec = codec
            configuration.readableCodecs = codecs.all
            let ends = try PlayedLink(name, options, home: home)
            let transport = try LinkTransport(localPeer: ends.peer, link: ends.link, configuration: configuration)
            #if Inspector
                let writer = try record.map { path throws(ToolError) in try RecordingWriter(transport, path: path) }
                let writing = writer.map { writer in Task { try await writer.run() } }
                defer {
                    writing?.cancel()
                    writer?.write()
                }
                let carrier: any SessionSyncTransport = writer?.recorder ?? transport
                let follow: @MainActor (WorkoutSession) -> Void = { writer?.session = $0 }
            #else
                if record != nil { throw ToolError.needsInspector }
                let carrier = transport
                let follow: @MainActor (WorkoutSession) -> Void = { _ in }
            #endif
            let player = PeerPlayer(
                plan: plan, actor: name, pace: options.pace, isConcurrent: options.concurrent, isLive: live,
                peersComeBack: options.link.peersComeBack, patience: options.patience(for: plan), peerIDs: ends.peerIDs,
                transport: carrier, onSession: follow,
                report: report)
            try transport.start()
            let session = try await player.play()
            await transport.close()
            return PeerSummary(
                name: name.rawValue, session: session, track: try await session.track(),
                bytesRaw: codec.encodedByteCount,
                bytesOnWire: ends.link.bytesSent,
                seconds: (ContinuousClock.now - started).seconds, wakeups: ProcessWakeups.count)
        }

        private var report: @Sendable (PeerReport) -> Void {
            let (name, json) = (name.rawValue, json)
            return { report in
                if json {
                    ToolOutput.drawRemark(report.line.printableJSON + "\n")
                } else {
                    ToolOutput.remark("\(name): \(report.text)")
                }
            }
        }

        /// Exits when the parent has exited for any reason: nothing would read this peer's reports.
        private func followParent() {
            // The parent ignores these signals to handle them itself, and a child inherits that.
            for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
            let parent = getppid()
            let thread = Thread {
                while getppid() == parent { Thread.sleep(forTimeInterval: 0.2) }
                Foundation.exit(1)
            }
            thread.start()
        }
    }

    extension PeerSummary {
        @MainActor
        init(
            name: String, session: WorkoutSession, track: [RecordedSample<WorkoutSample>], bytesRaw: UInt64,
            bytesOnWire: UInt64, seconds: Double, wakeups: Int
        ) {
            let statistics = session.statistics
            self.init(
                name: name, digest: session.state.digest, trackDigest: track.map(\.value).digest, samples: track.count,
                events: session.state.eventCount,
                submitted: statistics.submitted, applied: statistics.applied, duplicates: statistics.duplicates,
                ignored: statistics.ignored, late: statistics.late, confirmed: statistics.confirmed,
                resent: statistics.resent, copies: statistics.copiesAdopted, gaps: statistics.gaps,
                snapshots: statistics.snapshotsApplied,
                snapshotsSent: statistics.snapshotsSent, snapshotRequests: statistics.snapshotRequestsSent,
                sendFailures: statistics.sendFailures, bytesRaw: bytesRaw,
                bytesOnWire: bytesOnWire,
                seconds: seconds, wakeups: wakeups)
        }
    }
#endif
