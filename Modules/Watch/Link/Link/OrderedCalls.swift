import MeshBase

/// Calls that are made one at a time, in the order in which they were added, by whichever thread finds nobody at it.
final class OrderedCalls: Sendable {
    private struct State {
        var calls: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Locked(State())

    var isRunning: Bool { state.withLock { $0.isRunning } }

    func add(_ call: @escaping @Sendable () -> Void) { state.withLock { $0.calls.append(call) } }

    /// Makes what waits, and what is added meanwhile.
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
