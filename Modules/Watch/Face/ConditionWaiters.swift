import MeshConnection
import MeshTransport

/// Suspended calls, each of which waits for a condition.
@MainActor
final class ConditionWaiters {
    private struct Waiter {
        let check: () throws -> Bool
        let first: FirstResult<Bool>
    }

    private var waiters: [Waiter] = []

    /// Checks every condition again. Call it after each change.
    func recheck() {
        let before = waiters
        waiters = []
        var left: [Waiter] = []
        for waiter in before {
            switch Result(catching: waiter.check) {
            case .success(true): waiter.first.resolve(.success(true))
            case .success(false): left.append(waiter)
            case .failure(let error): waiter.first.resolve(.failure(error))
            }
        }
        waiters = left + waiters
    }

    /// Waits until `check` returns true.
    /// - Parameter deadline: nil waits without a limit.
    /// - Returns: False if the deadline passed first.
    /// - Throws: Errors of `check`; `ConnectionError.cancelled`.
    func wait(
        until deadline: Duration?, _ clock: any DeliveryClock, for check: @escaping () throws -> Bool
    ) async throws -> Bool {
        if try check() { return true }
        let first = FirstResult<Bool>()
        waiters.append(Waiter(check: check, first: first))
        if let deadline { clock.wake(at: deadline) { first.resolve(.success(false)) } }
        defer { waiters.removeAll { $0.first === first } }
        return try await first.value()
    }

    /// Ends every waiting call with `cancelled`.
    func end() {
        for waiter in waiters { waiter.first.resolve(.failure(ConnectionError.cancelled)) }
        waiters = []
    }
}
