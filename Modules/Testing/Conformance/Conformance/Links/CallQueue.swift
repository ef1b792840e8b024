import MeshBase

/// Calls one after another, none within another: on the thread of whoever comes first, in the order in which they were
/// added. Holds what its owner adds, which has bounds of its own.
final class CallQueue: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Locked(State())

    /// May be called under a lock; `run` follows when it is let go.
    func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Makes the calls, unless somebody makes them already, who then makes these too.
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
