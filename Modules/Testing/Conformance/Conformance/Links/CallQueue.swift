import MeshBase

/// Makes calls one at a time, in the order in which they were added, on the first thread that calls `run`. No call runs
/// within another. The queue has no bound of its own; its owner's bounds apply.
final class CallQueue: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Locked(State())

    /// Adds a call. May be called under a lock; call `run` after unlocking.
    func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Makes all queued calls. If another thread is already making calls, that thread makes these too.
    func run() {
        let isMine = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isMine else { return }
        while let calls = next() { for call in calls { call() } }
    }

    private func next() -> [@Sendable () -> Void]? {
        state.withLock { state in
            guard !state.calls.isEmpty else {
                state.isRunning = false
                return nil
            }
            defer { state.calls = [] }
            return state.calls
        }
    }
}
