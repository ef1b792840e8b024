import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshWire

/// Work that a turn leaves for later or for other threads.
extension SyncedSession {
    func read(_ copy: ArrivingCopy) {
        copyTask.hold([Task { [weak self] in await self?.backgroundTurn { $0.adopt(copy) } }])
    }

    #if DEBUG
        /// Warns about nondeterministic reducers. The app may not observe alarms, so devices could silently differ.
        func warn(of alarms: [SessionAlarm]) {
            for case .nondeterministicReducer(let place) in alarms {
                let range = SessionRange(source: place.source, first: place.sequence, last: place.sequence)
                var event = "event \(place.sequence) of \(place.source)"
                if case .event(let value)? = core.engine.records(in: range).first?.content { event += ", \(value)" }
                StandardError.print(
                    """
                    the reducer of '\(featureID)' returned two different results for \(event), so devices will diverge. \
                    Use context.uuid(), context.randomNumberGenerator and context.metadata.causalTimestamp \
                    instead of UUID(), random numbers and Date().
                    """)
            }
        }
    #endif

    /// Computes the digest of a state off the main actor, because a state has no size limit.
    func makeDigest(of milestone: SessionMilestone<State>) {
        digestTask.hold([
            Task { [weak self, measure = configuration.measure] in
                let (digest, cost) = await Self.digest(of: milestone.state, measure)
                guard !Task.isCancelled else { return }
                self?.turn { $0.finishDigest(digest, of: milestone, cost: cost) }
            }
        ])
    }

    nonisolated private static func digest(
        of state: State, _ measure: @Sendable (() -> Void) -> Duration
    ) async -> (UInt64?, Duration) {
        var digest: UInt64?
        let cost = measure { digest = CompactCodec.canonicalDigest(of: state) }
        return (digest, cost)
    }

    func set(_ timer: OwnedTasks, _ delay: Duration, _ body: @escaping @MainActor (inout Core) -> Void) {
        timer.cancel()
        guard isRunning else { return }
        timer.hold([
            Task { [weak self, wait = configuration.wait] in
                try? await wait(delay)
                if !Task.isCancelled { self?.turn(body) }
            }
        ])
    }

    /// Reduces late events in slices, so that the main actor can do other work in between.
    func catchUp(in delay: Duration) {
        guard isRunning, !isCatchingUp else { return }
        isCatchingUp = true
        catchUpTask.hold([
            Task { [weak self, wait = configuration.wait] in
                if delay > .zero { try? await wait(delay) }
                while !Task.isCancelled, let self {
                    // Wait: `backgroundTurn` discards its result when the core changes.
                    if self.backgroundTurnCount > 0 {
                        try? await wait(.milliseconds(1))
                    } else if self.catchUpSlice() {
                        await Task.yield()
                    } else {
                        break
                    }
                }
                if !Task.isCancelled { self?.isCatchingUp = false }
            }
        ])
    }

    /// Reduces one slice of late events. Returns true if there is more to do.
    private func catchUpSlice() -> Bool {
        let end = ContinuousClock.now + configuration.catchUpTime
        return turn { core in
            repeat { core.catchUp(atMost: 8) } while core.engine.isBehind && ContinuousClock.now < end
            return core.isCatchingUp
        }
    }

    /// Runs the side effects of confirmed events, unless they are already running.
    func runEffects() {
        guard let run = configuration.onConfirmed, !isRunningEffects else { return }
        isRunningEffects = true
        effectTask.hold([
            Task { [weak self] in
                while let event = self?.turn({ $0.nextEffect() }) {
                    do {
                        try await run(event)
                        self?.turn { $0.finishEffect() }
                    } catch {
                        self?.turn { $0.statistics.effectFailures += 1 }
                        break
                    }
                }
                self?.isRunningEffects = false
            }
        ])
    }
}
