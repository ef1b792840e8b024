import MeshBase

@testable import MeshResume

/// A clock that a test advances.
final class ManualTime: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: [(id: Int, due: Duration, wake: CheckedContinuation<Void, any Error>)] = []
        var count = 0
    }

    private let state = Locked(State())

    var time: ResumeTime {
        ResumeTime(elapsed: { self.state.withLock { $0.now } }, sleep: { try await self.sleep(until: $0) })
    }

    /// The earliest time at which a sleeper wakes.
    var nextDue: Duration? { state.withLock { $0.sleepers.map(\.due).min() } }

    func advance(to now: Duration) {
        let woken = state.withLock { state in
            state.now = max(state.now, now)
            defer { state.sleepers.removeAll { $0.due <= state.now } }
            return state.sleepers.filter { $0.due <= state.now }
        }
        for sleeper in woken { sleeper.wake.resume() }
    }

    private func sleep(until due: Duration) async throws {
        let id = state.withLock { state in
            state.count += 1
            return state.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wake in
                let isOver = state.withLock { state in
                    if Task.isCancelled || due <= state.now { return true }
                    state.sleepers.append((id, due, wake))
                    return false
                }
                if isOver { wake.resume(with: Task.isCancelled ? .failure(CancellationError()) : .success(())) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let index = state.sleepers.firstIndex { $0.id == id }
                return index.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.wake.resume(throwing: CancellationError())
        }
    }
}

/// A gate that opens once, for all waiters.
final class Gate: Sendable {
    private let state = Locked((isOpen: false, waiters: [CheckedContinuation<Void, Never>]()))

    var waiterCount: Int { state.withLock { $0.waiters.count } }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func pass() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }
}
