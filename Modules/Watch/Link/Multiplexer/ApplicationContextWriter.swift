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

/// Writes the one application context of a session, for all who have something in it: a key for each.
///
/// What is set while a write is pending goes with that write, so that a session is given a context once for any number of
/// changes. Keys that others have written, the app itself among them, stay. Each context that is written carries a number
/// that none had before, since the system does not deliver one that equals the last. A write that fails is tried again:
/// after 1 s, doubling to 30 s, and whenever the session has changed.
///
/// Writes happen on a serial queue of the writer's own, because the system may block them; where time is virtual, in the
/// clock's turn. Safe to use from any thread; never blocks.
public final class ApplicationContextWriter: Sendable {
    private struct State {
        /// nil takes the key out of the context.
        var values: [String: Data?] = [:]
        var isScheduled = false
        var isDirty = false
        var retries = RetryPlan.ofSession
        var onWritten: (@Sendable ((any Error)?) -> Void)?
    }

    private let session: any WCSessionProviding
    private let clock: any DeliveryClock
    private let queue = DispatchQueue(label: "sessionmesh.application-context")
    private let state = Locked(State())

    /// Only this library changes what is under it, with each context.
    package static let numberKey = WatchSessionMultiplexer.prefix + "number"

    init(_ session: any WCSessionProviding, _ clock: any DeliveryClock) {
        self.session = session
        self.clock = clock
    }

    /// Sets or removes one key of the application context, and leaves the other keys as they are.
    ///
    /// - Parameter value: nil takes the key out.
    /// - Throws: `payloadTooLarge` with the id `wcsession.applicationContext` when the value does not fit beside the others.
    ///   The key keeps its earlier value then, and everything else is written as ever.
    /// - Complexity: O(keys of the context).
    public func set(_ value: Data?, for key: String) throws(SessionSyncError) { try set([key: value]) }

    /// The same for several keys, in one context: all of them or none.
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

    /// Writes the context again even if nothing has changed, so that the other side is handed it again.
    public func writeAgain() {
        state.withLock { $0.isDirty = true }
        schedule()
    }

    /// Stops managing the keys with a prefix, and leaves them in the context. For use after the user has switched
    /// watches, each of which has its own context.
    public func forget(keysWithPrefix prefix: String) {
        state.withLock { state in state.values = state.values.filter { !$0.key.hasPrefix(prefix) } }
    }

    /// The session may take what it has refused, or have another context.
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
        let values = state.withLock { state in
            state.isScheduled = false
            return state.isDirty ? state.values : nil
        }
        guard let values, session.activationState == .activated else { return }
        state.withLock { $0.isDirty = false }
        var context = session.applicationContext
        let number = context[Self.numberKey] as? Int ?? 0
        for (key, value) in values { context[key] = value }
        context[Self.numberKey] = number &+ 1
        do {
            try session.updateApplicationContext(context)
            state.withLock { $0.retries.reset() }
            tell(nil)
        } catch {
            tell(error)
            tryAgain()
        }
    }

    /// - Parameter onWritten: told after each write what the session has thrown.
    func observe(_ onWritten: @escaping @Sendable ((any Error)?) -> Void) {
        state.withLock { $0.onWritten = onWritten }
    }

    private func tell(_ error: (any Error)?) { state.withLock { $0.onWritten }?(error) }

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
    /// What the context takes beside its entries.
    private static var rootBytes: Int { 256 }

    /// At least what an entry takes in a binary property list: two objects, their places and references, the key in UTF-16.
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
