import MeshBase
import MeshDiscovery
import MeshTestSupport

/// Records the events of a discovery, and lets a test wait for them.
final class DiscoveryRecorder: ServiceObserver {
    enum Event: Hashable, Sendable {
        case found(FoundService)
        case lost(String)
        case renamed(String)
        case failed(DiscoveryError)
    }

    private struct Waiter {
        let id: UInt64
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var waitersSoFar: UInt64 = 0
        var events: [Event] = []
        var services: [String: FoundService] = [:]
        var waiters: [Waiter] = []
    }

    private let state = Locked(State())

    func found(_ service: FoundService) {
        record(.found(service)) { $0.services[service.instance] = service }
    }

    func lost(instance: String) {
        record(.lost(instance)) { $0.services[instance] = nil }
    }

    func renamed(to instance: String) { record(.renamed(instance)) { _ in } }

    func failed(_ error: DiscoveryError) { record(.failed(error)) { _ in } }

    private func record(_ event: Event, _ change: (inout State) -> Void) {
        let met = state.withLock { state in
            state.events.append(event)
            change(&state)
            let met = state.waiters.filter { $0.isMet(state) }
            let current = state
            state.waiters.removeAll { $0.isMet(current) }
            return met
        }
        for waiter in met { waiter.continuation.resume() }
    }
}

// MARK: - For the test

extension DiscoveryRecorder {
    /// All events so far.
    var events: [Event] { state.withLock { $0.events } }
    /// The services that are currently found.
    var services: [String: FoundService] { state.withLock { $0.services } }

    /// Waits until the found services satisfy the condition.
    func untilServices(_ isMet: @escaping @Sendable ([String: FoundService]) -> Bool) async {
        await until { isMet($0.services) }
    }

    /// Waits until the service is found and satisfies the condition.
    @discardableResult
    func service(
        _ instance: String, where isMet: @escaping @Sendable (FoundService) -> Bool = { _ in true }
    ) async -> FoundService? {
        await untilServices { $0[instance].map(isMet) ?? false }
        return services[instance]
    }

    /// Waits until the service isn't found any more.
    func loss(of instance: String) async { await untilServices { $0[instance] == nil } }

    /// Waits for the new name of an own announcement.
    func newName() async -> String? {
        await until { $0.events.contains { $0.newName != nil } }
        return lastName
    }

    /// The last new name of an own announcement.
    var lastName: String? { events.compactMap(\.newName).last }

    /// Waits until browsing fails.
    func failure() async -> DiscoveryError? {
        await until { $0.events.contains { $0.failure != nil } }
        return events.compactMap(\.failure).first
    }

    /// Waits for the condition. Also returns when the test's patience ends.
    private func until(_ isMet: @escaping @Sendable (State) -> Bool) async {
        await patiently { await self.wait(until: isMet) }
    }

    private func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        let id = state.withLock { state in
            state.waitersSoFar += 1
            return state.waitersSoFar
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if Task.isCancelled || isMet(state) { return true }
                    state.waiters.append(Waiter(id: id, isMet: isMet, continuation: continuation))
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }
}

extension DiscoveryRecorder.Event {
    fileprivate var newName: String? { if case .renamed(let name) = self { name } else { nil } }
    fileprivate var failure: DiscoveryError? { if case .failed(let error) = self { error } else { nil } }
}
