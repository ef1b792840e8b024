import MeshIdentity

/// The way of one feature's envelopes to its handler. Ends when its holder lets it go.
public final class EnvelopeRoute: Sendable {
    /// The feature whose envelopes take it.
    public let featureID: String
    private let end: @Sendable () -> Void

    /// Creates the route of a feature's envelopes, which lasts until it is released.
    ///
    /// - Parameter end: called when the route is let go.
    public init(featureID: String, end: @escaping @Sendable () -> Void) {
        self.featureID = featureID
        self.end = end
    }

    deinit { end() }
}

/// Calls a handler for one envelope after another, whoever brings them.
actor EnvelopeQueue {
    private let handler: @Sendable (AnySessionSyncEnvelope) async -> Void
    private var last: Task<Void, Never>?

    /// - Parameters:
    ///   - waiting: what has come before, to be taken first.
    ///   - done: is told of each of those from which the handler has returned.
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

    /// Returns when the handler is done with it, and with everything before it.
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
