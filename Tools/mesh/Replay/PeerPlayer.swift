#if CommandLineTools
    import Foundation
    import MeshIdentity
    import MeshSession
    import MeshToolOutput
    import MeshTransport
    import WorkoutExample

    /// Plays one peer's part of a replay over a link and reports the result.
    @MainActor
    struct PeerPlayer: Sendable {
        let plan: ReplayPlan
        let actor: ReplayPlan.Actor
        let pace: ReplayPace
        let isConcurrent: Bool
        /// True if a live view shows this peer.
        let isLive: Bool
        /// True if the other peer may disconnect and return. If false, its disconnection ends the replay.
        let peersComeBack: Bool
        let patience: Duration
        let peerIDs: [ReplayPlan.Actor: String]
        let transport: any SessionSyncTransport
        let onSession: @MainActor (WorkoutSession) -> Void
        let report: @Sendable (PeerReport) -> Void

        /// Returns when the plan is complete here and all of this peer's messages have been passed to the link.
        /// - Throws: `ToolError` if the other side hangs up or there is no progress for too long.
        func play() async throws -> WorkoutSession {
            let progress = PeerProgress(plan: plan, report: report)
            let hangUps = transport.reachabilityChanges()
            return try await withThrowingTaskGroup(of: WorkoutSession.self) { group in
                group.addTask { try await self.perform(progress) }
                if !peersComeBack { group.addTask { throw try await self.hangUp(hangUps, progress) } }
                group.addTask { throw try await self.stall(progress) }
                defer { group.cancelAll() }
                guard let session = try await group.next() else { throw CancellationError() }
                return session
            }
        }

        private func hangUp(
            _ changes: AsyncStream<SessionPeerReachability>, _ progress: PeerProgress
        ) async throws -> ToolError {
            for await change in changes where !change.isReachable { break }
            // Messages that arrived before the end are still being applied.
            try await Task.sleep(for: .seconds(1))
            return ToolError("\(otherName) disconnected after \(progress.steps) of \(progress.total) steps")
        }

        private func stall(_ progress: PeerProgress) async throws -> ToolError {
            try await progress.waitForStall(patience)
            let seconds = patience.components.seconds
            return ToolError(
                "nothing from \(otherName) for \(seconds) s, at step \(progress.steps) of \(progress.total)")
        }

        private func perform(_ progress: PeerProgress) async throws -> WorkoutSession {
            let underWay = try await sessionUnderWay()
            let session = WorkoutSession.workout(sessionID: underWay ?? UUID(), over: transport) { configuration in
                // The next tap waits for the samples, so they are sent soon.
                configuration.seriesInterval = .milliseconds(100)
            }
            session.start()
            onSession(session)
            let runner = ReplayRunner(
                plan: plan, actor: actor, session: session, pace: pace, isConcurrent: isConcurrent,
                stepsApart: isLive && !isConcurrent ? plan.stepsApart(at: pace) : 0..<0,
                joinsLate: underWay != nil, peerIDs: peerIDs, onProgress: progress.reached, onTap: reportTap)
            let reporting = isLive ? Task { try await reportStates(of: session, runner) } : nil
            defer { reporting?.cancel() }
            try await runner.run()
            if isLive { report(.state(device(session, runner))) }
            try await session.close()
            return session
        }

        /// Returns the session to join. The watch waits for one. The phone opens one, unless it may be returning and hears of a
        /// session in progress within a second.
        private func sessionUnderWay() async throws -> UUID? {
            let sessions = transport.sessions(featureID: WorkoutSession.workoutFeatureID)
            if actor == .watch {
                for await id in sessions { return id }
                throw ToolError("\(otherName) disconnected before it opened a session")
            }
            guard peersComeBack else { return nil }
            return try await withThrowingTaskGroup(of: UUID?.self) { group in
                group.addTask {
                    for await id in sessions { return id }
                    return nil
                }
                group.addTask {
                    try await Task.sleep(for: .seconds(1))
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }

        private func reportTap(_ envelope: SessionSyncEnvelope<WorkoutEvent>) {
            if isLive { report(.tapped(envelope.payload.name, number: envelope.metadata.sequence)) }
        }

        /// Reports each change, at most 20 times a second, until cancelled.
        private func reportStates(of session: WorkoutSession, _ runner: ReplayRunner) async throws {
            var last: LiveDevice?
            while true {
                let device = device(session, runner)
                if device != last { report(.state(device)) }
                last = device
                try await Task.sleep(for: .milliseconds(50))
            }
        }

        private func device(_ session: WorkoutSession, _ runner: ReplayRunner) -> LiveDevice {
            let other = actor == .phone ? ReplayPlan.Actor.watch : .phone
            return LiveDevice(session, runner, other: peerIDs[other] ?? other.rawValue)
        }

        private var otherName: String { actor == .phone ? "the watch" : "the phone" }
    }

    /// The progress of a peer. Reported at each percent, and at least once a second while it advances.
    @MainActor
    final class PeerProgress {
        private(set) var steps = 0
        let total: Int
        private let interval: Int
        private let watchJoinsAfter: Int
        private let report: @Sendable (PeerReport) -> Void
        private var reportedSteps = 0
        private var reportedAt = ContinuousClock.now

        init(plan: ReplayPlan, report: @escaping @Sendable (PeerReport) -> Void) {
            total = plan.steps.count
            interval = max(1, total / 100)
            watchJoinsAfter = plan.watchJoinsAfter
            self.report = report
        }

        func reached(_ steps: Int) {
            self.steps = steps
            // The parent process waits for this step to start the other peer.
            let isJoin = reportedSteps < watchJoinsAfter && steps >= watchJoinsAfter
            let isDue = steps >= reportedSteps + interval || ContinuousClock.now > reportedAt + .seconds(1)
            guard steps != reportedSteps, isDue || isJoin else { return }
            reportedSteps = steps
            reportedAt = .now
            report(.progress(steps: steps))
        }

        /// Returns when there has been no step for the given time.
        func waitForStall(_ patience: Duration) async throws {
            var seen = steps
            var since = ContinuousClock.now
            while ContinuousClock.now < since + patience {
                try await Task.sleep(for: .milliseconds(250))
                if steps != seen { (seen, since) = (steps, .now) }
            }
        }
    }
#endif
