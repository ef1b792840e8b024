#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Runs a replay in two child processes whose standard streams are connected. Starts the watch once the phone has made the
    /// steps that the plan requires. Leaves no child behind, however the replay ends.
    struct PeerProcesses {
        private enum Event: Sendable {
            case peer(ReplayPlan.Actor, PeerProcess.Event)
            case interrupted(Int32)
            case suspended
            case bytes(from: ReplayPlan.Actor)
            case tick
        }

        let options: ReplayOptions
        let plan: ReplayPlan
        let display: any ReplayDisplay
        /// True if a live view shows the peers. They then report more.
        let isLive: Bool
        /// Delay of the bytes between the peers' pipes; nil for none. With a delay, the pipes also hold everything back for a
        /// while.
        let delay: Duration?
        /// Homes with the peers' identities; nil for links without identities.
        let homes: ReplayHomes?
        /// Environment variables of both peers.
        let secrets: [String: String]
        /// Returns the path to which a peer records its traffic; nil for no recording.
        let record: @Sendable (ReplayPlan.Actor) -> String?

        /// - Throws: `ToolError` if a peer fails, crashes or reports nothing for too long; `Interruption`.
        func run() async throws -> [PeerSummary] {
            let events = AsyncStream.makeStream(of: Event.self)
            let signals = await SignalWatch([SIGINT, SIGTERM, SIGHUP]) { events.continuation.yield(.interrupted($0)) }
            // Otherwise Ctrl-Z would leave the shell on the alternate screen.
            let stops = isLive ? await SignalWatch([SIGTSTP]) { _ in events.continuation.yield(.suspended) } : nil
            let tickInterval: Duration = isLive ? .milliseconds(40) : .seconds(1)
            let ticks = Task {
                while !Task.isCancelled {
                    try await Task.sleep(for: tickInterval)
                    events.continuation.yield(.tick)
                }
            }
            var children: [PeerProcess] = []
            defer {
                ticks.cancel()
                signals.cancel()
                stops?.cancel()
                for child in children { child.kill() }
            }

            let (toWatch, toPhone) = (Pipe(), Pipe())
            let (fromPhone, fromWatch) = delay == nil ? (toWatch, toPhone) : (Pipe(), Pipe())
            var link = try delay.map { delay in
                try SlowedLink([(.phone, fromPhone, toWatch), (.watch, fromWatch, toPhone)], delay: delay) {
                    events.continuation.yield(.bytes(from: $0))
                }
            }
            defer { link?.end() }
            func start(_ actor: ReplayPlan.Actor) throws {
                let (input, output) = actor == .phone ? (toPhone, fromPhone) : (toWatch, fromWatch)
                children.append(
                    try PeerProcess(
                        actor,
                        arguments: options.arguments + (homes?.arguments(of: actor) ?? [])
                            + (record(actor).map { ["--record", $0] } ?? []) + (isLive ? ["--live"] : []),
                        secrets: secrets,
                        input: input.fileHandleForReading,
                        output: output.fileHandleForWriting
                    ) { events.continuation.yield(.peer(actor, $0)) })
                display.joined(actor)
                // If these ends stayed open here, one peer wouldn't notice that the other is gone.
                try input.fileHandleForReading.close()
                try output.fileHandleForWriting.close()
            }

            try start(.phone)
            var peers = Peers(plan: plan, patience: options.patience(for: plan) + .seconds(10))
            for await event in events.stream {
                switch event {
                case .interrupted(let signal): throw Interruption(signal: signal)
                case .suspended:
                    display.suspend()
                    kill(getpid(), SIGSTOP)
                case .bytes(let actor): display.send(from: actor)
                case .tick:
                    try peers.checkPatience()
                    link?.pass()
                    display.tick()
                case .peer(let actor, let event):
                    try peers.take(event, from: actor)
                    guard case .report(let report) = event else { break }
                    link?.take(report, from: actor)
                    display.take(report, from: actor)
                }
                if let link { display.reach(isApart: link.isApart) }
                if peers.watchIsDue, children.count == 1 { try start(.watch) }
                if peers.allEnded { break }
            }
            return peers.summaries
        }
    }

    /// The pipes between two peers. This process delays them, and holds them for a while.
    private struct SlowedLink {
        private let pipes: [SlowedPipe]
        private let started = ContinuousClock.now
        private var reach = LiveReach()

        var isApart: Bool { reach.isApart }

        init(
            _ ways: [(from: ReplayPlan.Actor, output: Pipe, input: Pipe)], delay: Duration,
            onBytes: @escaping @Sendable (ReplayPlan.Actor) -> Void
        ) throws {
            pipes = try ways.map { actor, output, input in
                try SlowedPipe(from: output.fileHandleForReading, to: input.fileHandleForWriting, delay: delay) {
                    onBytes(actor)
                }
            }
        }

        mutating func take(_ report: PeerReport, from actor: ReplayPlan.Actor) {
            guard case .state(let device) = report else { return }
            change { $0.take(isApart: device.isApart, from: actor, at: $1) }
        }

        mutating func pass() { change { $0.pass(to: $1) } }

        /// Releases held bytes.
        func end() { for pipe in pipes { pipe.hold(false) } }

        private mutating func change(_ body: (inout LiveReach, Duration) -> Void) {
            let wasApart = isApart
            body(&reach, .now - started)
            if isApart != wasApart { for pipe in pipes { pipe.hold(isApart) } }
        }
    }

    /// The known status of the children.
    private struct Peers {
        let plan: ReplayPlan
        let patience: Duration
        var steps: [ReplayPlan.Actor: Int] = [:]
        private var finished: [ReplayPlan.Actor: PeerSummary] = [:]
        private var ended: Set<ReplayPlan.Actor> = []
        private var remarks: [ReplayPlan.Actor: String] = [:]
        private var lastSign = ContinuousClock.now

        init(plan: ReplayPlan, patience: Duration) {
            self.plan = plan
            self.patience = patience
        }

        var watchIsDue: Bool { steps[.phone] ?? 0 >= plan.watchJoinsAfter }
        var allEnded: Bool { ended.count == ReplayPlan.Actor.allCases.count }
        var summaries: [PeerSummary] { ReplayPlan.Actor.allCases.compactMap { finished[$0] } }

        mutating func take(_ event: PeerProcess.Event, from actor: ReplayPlan.Actor) throws {
            switch event {
            case .report(.progress(let count)):
                if count > steps[actor] ?? 0 { lastSign = .now }
                steps[actor] = count
            case .report(.finished(let summary)):
                finished[actor] = summary
                steps[actor] = plan.steps.count
                lastSign = .now
            case .report(.state), .report(.tapped): break
            case .report(.failed(let reason)): throw ToolError("the \(actor.rawValue) failed: \(reason)")
            case .remark(let line):
                if remarks[actor] == nil { remarks[actor] = String(line.prefix(200)) }
            case .ended(let status, let wasKilled):
                guard finished[actor] != nil else {
                    let how = wasKilled ? "was ended by signal \(status)" : "exited with status \(status)"
                    throw ToolError("the \(actor.rawValue) \(how)\(remarks[actor].map { ": \($0)" } ?? "")")
                }
                ended.insert(actor)
            }
        }

        func checkPatience() throws {
            guard ContinuousClock.now > lastSign + patience else { return }
            throw ToolError("no peer has made progress for \(patience.components.seconds) s, at \(placeOfAll)")
        }

        private var placeOfAll: String {
            ReplayPlan.Actor.allCases.map { "\($0.rawValue) \(steps[$0] ?? 0)" }.joined(separator: ", ")
                + " of \(plan.steps.count) steps"
        }
    }
#endif
