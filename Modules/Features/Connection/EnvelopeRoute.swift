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

/// Calls a handler for one envelope at a time, from any number of callers.
actor EnvelopeQueue {
    private let handler: @Sendable (AnySessionSyncEnvelope) async -> Void
    private var last: Task<Void, Never>?

    /// - Parameters:
    ///   - waiting: envelopes that arrived before the queue existed. They are handled first.
    ///   - done: called after each waiting envelope was handled.
    init(
        waiting: [WaitingEnvelopes.Entry], handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void,
        done: @escaping @Sendable (WaitingEnvelopes.Entry) -> Void
    ) {
        self.handler = handler
        guard !waiting.isEmpty else { return }
        last = Task {
            for entry in waiting {
                await handler(entry.envelope)
                done(entry)
            }
        }
    }

    /// Returns when this envelope, and every one before it, was handled.
    func take(_ envelope: AnySessionSyncEnvelope) async {
        let handler = handler
        let task = Task { [last] in
            await last?.value
            await handler(envelope)
        }
        last = task
        await task.value
    }
}
