import MeshConnection
import MeshTransport

/// Calls that wait until something has become true.
@MainActor
final class Waiting {
    private struct Waiter {
        let check: () throws -> Bool
        let first: FirstResult<Bool>
    }

    private var waiters: [Waiter] = []

    /// Something has changed.
    func look() {
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

    /// - Parameter deadline: nil waits for as long as it takes.
    /// - Returns: whether it has become true in time.
    /// - Throws: what `check` throws; `ConnectionError.cancelled`.
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

    /// Nothing will change any more.
    func end() {
        for waiter in waiters { waiter.first.resolve(.failure(ConnectionError.cancelled)) }
        waiters = []
    }
}
