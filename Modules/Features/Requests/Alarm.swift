import MeshBus
import MeshTransport

/// Calls that are due at some time and can be withdrawn. The clock, which knows no withdrawing, has few of them to make:
/// one for whatever is due next.
///
/// Complexity: O(1) to set and to cancel, O(what is set) when something is due.
final class Alarm: Sendable {
    fileprivate struct Entry {
        let due: Duration
        let body: @Sendable () -> Void
    }

    fileprivate struct State {
        var entries: [UInt64: Entry] = [:]
        var nextID: UInt64 = 0
        /// When the clock calls next.
        var armed: Duration?
    }

    let clock: any DeliveryClock
    private let state = Locked(State())

    init(_ clock: any DeliveryClock) { self.clock = clock }

    /// - Parameter body: called once, on the clock's thread, unless it is cancelled.
    @discardableResult
    func set(at due: Duration, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        let (id, mustArm) = state.withLock { state in
            state.nextID += 1
            state.entries[state.nextID] = Entry(due: due, body: body)
            return (state.nextID, state.mustArm(due))
        }
        if mustArm { arm(due) }
        return id
    }

    func cancel(_ id: UInt64) { state.withLock { $0.entries[id] = nil } }

    /// Nothing that is set now is called.
    func cancelAll() { state.withLock { $0.entries = [:] } }

    private func arm(_ due: Duration) {
        clock.wake(at: due) { [weak self] in self?.ring(due) }
    }

    private func ring(_ armed: Duration) {
        // A clock may round; what it has been armed for is due.
        let now = max(clock.elapsed, armed)
        let (due, next) = state.withLock { state in
            let due = state.entries.filter { $0.value.due <= now }.sorted { $0.key < $1.key }
            for (id, _) in due { state.entries[id] = nil }
            if let armed = state.armed, armed <= now { state.armed = nil }
            let next = state.entries.values.map(\.due).min()
            return (due.map(\.value.body), next.flatMap { state.mustArm($0) ? $0 : nil })
        }
        for body in due { body() }
        if let next { arm(next) }
    }
}

extension Alarm.State {
    fileprivate mutating func mustArm(_ due: Duration) -> Bool {
        if let armed, armed <= due { return false }
        armed = due
        return true
    }
}

extension Alarm {
    /// Waits until that time or until `sign` resolves, whichever is first.
    /// - Returns: whether it was the sign.
    func wait(for sign: Once<Bool>, until due: Duration) async -> Bool {
        let id = set(at: due) { sign.resolve(false) }
        defer { cancel(id) }
        return await sign.value()
    }
}
