import MeshBase
import MeshIdentity

/// The registration of a handler for one feature's envelopes. It ends when it is released.
public final class EnvelopeRoute: Sendable {
    /// The feature whose envelopes the handler gets.
    public let featureID: String
    private let end: @Sendable () -> Void

    /// Creates the route of a feature's envelopes, which lasts until it is released.
    ///
    /// - Parameter end: called when the route is released.
    public init(featureID: String, end: @escaping @Sendable () -> Void) {
        self.featureID = featureID
        self.end = end
    }

    deinit { end() }
}

/// Calls a handler for one envelope at a time, from any number of callers, until the route ends.
actor EnvelopeQueue {
    /// Ends with the route, which doesn't retain the queue.
    nonisolated let backlog: EnvelopeBacklog
    private let handler: @Sendable (AnySessionSyncEnvelope) async -> Void
    private var last: Task<Bool, Never>?

    /// - Parameters:
    ///   - waiting: envelopes that arrived before the queue existed. They are handled first.
    ///   - done: called after each waiting envelope was handled, unless the route has ended meanwhile.
    init(
        waiting: [WaitingEnvelopes.Entry], handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void,
        done: @escaping @Sendable (WaitingEnvelopes.Entry) -> Void
    ) {
        let backlog = EnvelopeBacklog(waiting)
        (self.backlog, self.handler) = (backlog, handler)
        guard !waiting.isEmpty else { return }
        last = Task {
            while let entry = backlog.next() {
                await handler(entry.envelope)
                // The handler may have found its feature gone, so the store keeps the envelope.
                if !backlog.hasEnded { done(entry) }
            }
            return true
        }
    }

    /// Returns when this envelope, and every one before it, was handled.
    /// - Returns: false if the route ended before the handler was called.
    func take(_ envelope: AnySessionSyncEnvelope) async -> Bool {
        let task = Task { [last, handler, backlog] in
            _ = await last?.value
            guard !backlog.hasEnded else { return false }
            await handler(envelope)
            return true
        }
        last = task
        return await task.value
    }
}

/// The waiting envelopes of a route, oldest first, until the route ends.
final class EnvelopeBacklog: Sendable {
    /// Nil once the route has ended.
    private let entries: Locked<ArraySlice<WaitingEnvelopes.Entry>?>

    init(_ entries: [WaitingEnvelopes.Entry]) { self.entries = Locked(entries[...]) }

    var hasEnded: Bool { entries.withLock { $0 == nil } }

    func next() -> WaitingEnvelopes.Entry? { entries.withLock { $0?.popFirst() } }

    /// - Returns: the envelopes that `next` hasn't returned.
    func end() -> [WaitingEnvelopes.Entry] {
        entries.withLock { entries in
            defer { entries = nil }
            return Array(entries ?? [])
        }
    }
}
