#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Runs a replay in two child processes whose standard streams are wired to each other. The watch is started once
    /// the phone has come as far as the plan says. However this ends, no child is left.
    struct PeerProcesses {
        private enum Event: Sendable {
            case peer(ReplayPlan.Actor, PeerProcess.Event)
            case interrupted(Int32)
            case tick
        }

        let options: ReplayOptions
        let plan: ReplayPlan
        let progress: ReplayProgress
        /// Where each peer keeps who it is; nil over links that do not ask.
        let homes: ReplayHomes?
        /// Where each peer writes what passes; nil for nowhere.
        let record: @Sendable (ReplayPlan.Actor) -> String?

        /// - Throws: `ToolError` when a peer fails, crashes or says nothing for too long; `Interruption`.
        func run() async throws -> [PeerSummary] {
            let events = AsyncStream.makeStream(of: Event.self)
            let signals = await SignalWatch([SIGINT, SIGTERM, SIGHUP]) { events.continuation.yield(.interrupted($0)) }
            let ticks = Task {
                while !Task.isCancelled {
                    try await Task.sleep(for: .seconds(1))
                    events.continuation.yield(.tick)
                }
            }
            var children: [PeerProcess] = []
            defer {
                ticks.cancel()
                signals.cancel()
                for child in children { child.kill() }
            }

            let (toWatch, toPhone) = (Pipe(), Pipe())
            func start(_ actor: ReplayPlan.Actor) throws {
                let (input, output) = actor == .phone ? (toPhone, toWatch) : (toWatch, toPhone)
                children.append(
                    try PeerProcess(
                        actor,
                        arguments: options.arguments + (homes?.arguments(of: actor) ?? [])
                            + (record(actor).map { ["--record", $0] } ?? []),
                        input: input.fileHandleForReading,
                        output: output.fileHandleForWriting
                    ) { events.continuation.yield(.peer(actor, $0)) })
                progress.joined(actor)
                // An end that stays open here would hide from one peer that the other is gone.
                try input.fileHandleForReading.close()
                try output.fileHandleForWriting.close()
            }

            try start(.phone)
            var peers = Peers(plan: plan, patience: options.patience(for: plan) + .seconds(10))
            for await event in events.stream {
                switch event {
                case .interrupted(let signal): throw Interruption(signal: signal)
                case .tick: try peers.checkPatience()
                case .peer(let actor, let event):
                    try peers.take(event, from: actor)
                    progress.reached(peers.steps[actor] ?? 0, by: actor)
                }
                if peers.watchIsDue, children.count == 1 { try start(.watch) }
                if peers.allEnded { break }
            }
            return peers.summaries
        }
    }

    /// What is known of the children.
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
            throw ToolError("no peer has moved for \(patience.components.seconds) s, at \(placeOfAll)")
        }

        private var placeOfAll: String {
            ReplayPlan.Actor.allCases.map { "\($0.rawValue) \(steps[$0] ?? 0)" }.joined(separator: ", ")
                + " of \(plan.steps.count) steps"
        }
    }
#endif
