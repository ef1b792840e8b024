import Dispatch
public import Foundation
import MeshBase
public import MeshIdentity
import MeshTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// Writes the single application context of a session, in which each client has its own keys.
///
/// Changes made while a write is pending are combined into one call of the session. Keys written by others, including
/// the app, stay. Each context carries a new number, because the system doesn't deliver a context that equals the last
/// one. A failed write is retried after 1 s, doubling to 30 s, and when the session changes.
///
/// Writes run on a serial queue of the writer, because the system may block them; in virtual time they run as a timer
/// of the clock. Safe to use from any thread; never blocks.
public final class ApplicationContextWriter: Sendable {
    private struct State {
        /// The value for each managed key; nil removes the key from the context.
        var values: [String: Data?] = [:]
        var isScheduled = false
        var isDirty = false
        var retries = RetryPlan.session
        var onWritten: (@Sendable ((any Error)?) -> Void)?
    }

    private let session: any WCSessionProviding
    private let clock: any DeliveryClock
    private let queue = DispatchQueue(label: "sessionmesh.application-context")
    private let state = Locked(State())

    /// The key of the number that changes with each context. Only this library writes it.
    package static let numberKey = WatchSessionMultiplexer.prefix + "number"

    init(_ session: any WCSessionProviding, _ clock: any DeliveryClock) {
        self.session = session
        self.clock = clock
    }

    /// Sets or removes one key of the application context, leaving the other keys as they are.
    ///
    /// - Parameter value: nil removes the key.
    /// - Throws: `payloadTooLarge` with the ID `wcsession.applicationContext` if the value doesn't fit next to the
    ///   others. Then the key keeps its earlier value, and other keys are written as usual.
    /// - Complexity: O(keys of the context).
    public func set(_ value: Data?, for key: String) throws(SessionSyncError) { try set([key: value]) }

    /// Sets or removes several keys in one context: all of them or none.
    package func set(_ values: [String: Data?]) throws(SessionSyncError) {
        let written = session.applicationContext
        let refusal: SessionSyncError? = state.withLock { state in
            let next = state.values.merging(values) { $1 }
            if values.values.contains(where: { $0 != nil }) {
                let limit = PayloadLimit.wcSessionApplicationContext
                let total = Self.byteCountMost(written, next)
                guard total <= limit.bytes else {
                    return .payloadTooLarge(bytes: total, limit: limit.bytes, limitID: limit.id)
                }
            }
            state.values = next
            state.isDirty = true
            return nil
        }
        if let refusal { throw refusal }
        schedule()
    }

    /// Writes the context again even if nothing has changed, so that the counterpart receives it again.
    public func writeAgain() {
        state.withLock { $0.isDirty = true }
        schedule()
    }

    /// Stops managing the keys with a prefix, but leaves them in the context. Call it after the user has switched
    /// watches, because each watch has its own context.
    public func forget(keysWithPrefix prefix: String) {
        state.withLock { state in state.values = state.values.filter { !$0.key.hasPrefix(prefix) } }
    }

    /// Writes again if something is unwritten: a changed session may accept it, or have another context.
    func sessionChanged() {
        let written = session.applicationContext
        let isDirty = state.withLock { state in
            if state.values.contains(where: { written[$0] as? Data != $1 }) { state.isDirty = true }
            return state.isDirty
        }
        if isDirty { schedule() }
    }

    // MARK: Writing

    private func schedule() {
        let isMine = state.withLock { state in
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isMine else { return }
        if clock.passesByItself {
            queue.async { self.write() }
        } else {
            clock.wake(at: clock.elapsed) { self.write() }
        }
    }

    private func write() {
        let isActivated = session.activationState == .activated
        // In one step, so that a value set meanwhile stays marked.
        let values: [String: Data?]? = state.withLock { state in
            state.isScheduled = false
            guard state.isDirty, isActivated else { return nil }
            state.isDirty = false
            return state.values
        }
        guard let values else { return }
        var context = session.applicationContext
        let number = context[Self.numberKey] as? Int ?? 0
        for (key, value) in values { context[key] = value }
        context[Self.numberKey] = number &+ 1
        do {
            try session.updateApplicationContext(context)
            state.withLock { $0.retries.reset() }
            notify(nil)
        } catch {
            notify(error)
            tryAgain()
        }
    }

    /// - Parameter onWritten: Called after each write, with the session's error if it refused.
    func observe(_ onWritten: @escaping @Sendable ((any Error)?) -> Void) {
        state.withLock { $0.onWritten = onWritten }
    }

    private func notify(_ error: (any Error)?) { state.withLock { $0.onWritten }?(error) }

    private func tryAgain() {
        let now = clock.elapsed
        let dueAt = state.withLock { state in
            state.isDirty = true
            return state.retries.plan(at: now)
        }
        guard let dueAt else { return }
        clock.wake(at: dueAt) { [weak self] in
            if self?.state.withLock({ $0.retries.takeDue(at: dueAt) }) == true { self?.schedule() }
        }
    }
}

// MARK: - Sizes

extension ApplicationContextWriter {
    /// The size of an empty context, rounded up.
    private static var rootBytes: Int { 256 }

    /// Returns an upper bound on an entry's size in a binary property list: two objects, their offsets and references,
    /// and the key in UTF-16.
    private static func byteCountMost(_ value: Data, _ key: String) -> Int { value.count + 2 * key.utf8.count + 64 }

    private static func byteCountMost(_ written: [String: Any], _ values: [String: Data?]) -> Int {
        var total = rootBytes
        for (other, value) in values { if let value { total += byteCountMost(value, other) } }
        for (other, value) in written where values[other] == nil && other != numberKey {
            if let data = value as? Data {
                total += byteCountMost(data, other)
            } else {
                let list = try? PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0)
                total += 2 * other.utf8.count + 64 + (list?.count ?? 0)
            }
        }
        return total
    }
}
