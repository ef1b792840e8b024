public import MeshIdentity

/// The envelopes that arrive for one subscriber, in batches. Wakes the subscriber on its own actor.
///
/// ```swift
/// let batches = transport.envelopeBatches { $0.featureID == "score" }
/// while let batch = await batches.next() { show(batch) }
/// ```
public struct EnvelopeBatches: Sendable {
    /// A function that waits for the next batch on the given actor; nil ends the stream.
    public typealias Next = @Sendable (isolated (any Actor)?) async -> [AnySessionSyncEnvelope]?

    private let unfold: Next

    /// Creates batches from a function that waits for the next one.
    ///
    /// - Parameter next: waits on the given actor; nil ends the stream.
    public init(next: @escaping Next) { unfold = next }

    /// Returns the envelopes that have arrived since the last call, at most 256; nil if the transport has closed or the
    /// waiting task was canceled. One call at a time.
    public func next(isolation: isolated (any Actor)? = #isolation) async -> [AnySessionSyncEnvelope]? {
        await unfold(isolation)
    }
}
