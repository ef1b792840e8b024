import MeshBase

/// A queue of closures that run one at a time, in order, on the thread of one of the callers of `run`.
final class OrderedCalls: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Locked(State())

    var isRunning: Bool { state.withLock { $0.isRunning } }

    func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Runs all queued closures, including those added meanwhile. Returns at once if another caller is running them.
    func run() {
        guard begin() else { return }
        while let calls = next() { for call in calls { call() } }
    }

    private func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning, !state.calls.isEmpty else { return false }
            state.isRunning = true
            return true
        }
    }

    private func next() -> [@Sendable () -> Void]? {
        state.withLock { state in
            let calls = state.calls
            state.calls = []
            state.isRunning = !calls.isEmpty
            return calls.isEmpty ? nil : calls
        }
    }
}
