import Foundation
import MeshBase

/// A manual clock that advances only on request, until it is switched to run in real time.
final class SteppedClock: Sendable {
    private struct State {
        var elapsed = 0.0
        var realTimeSince: ContinuousClock.Instant?
        var waiters: [(until: Double, continuation: CheckedContinuation<Void, Never>)] = []

        var now: Double { elapsed + (realTimeSince.map { (ContinuousClock.now - $0) / .seconds(1) } ?? 0) }
    }

    let start = Date(timeIntervalSince1970: 1_767_225_600)
    private let state = Locked(State())

    var now: @Sendable () -> Date { { [self] in start.addingTimeInterval(state.withLock(\.now)) } }

    var uptime: @Sendable () -> Duration { { [self] in .seconds(state.withLock(\.now)) } }

    /// Waits for a duration. Switching the clock to real time ends all timers set before.
    var wait: @Sendable (Duration) async throws -> Void {
        { [self] duration in
            await withCheckedContinuation { continuation in
                let isRealTime = state.withLock { state in
                    guard state.realTimeSince == nil else { return true }
                    state.waiters.append((state.elapsed + duration / .seconds(1), continuation))
                    return false
                }
                if isRealTime { continuation.resume() }
            }
            if state.withLock({ $0.realTimeSince != nil }) { try await Task.sleep(for: duration) }
            try Task.checkCancellation()
        }
    }

    func advance(to elapsed: Double) {
        let due = state.withLock { state in
            state.elapsed = elapsed
            let due = state.waiters.filter { $0.until <= elapsed }
            state.waiters.removeAll { $0.until <= elapsed }
            return due
        }
        for waiter in due { waiter.continuation.resume() }
    }

    func runInRealTime() {
        state.withLock { $0.realTimeSince = .now }
        advance(to: state.withLock(\.elapsed))
        let rest = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in rest { waiter.continuation.resume() }
    }
}
