public import MeshIdentity

/// The envelopes that have arrived for one subscriber, turn by turn. The subscriber is woken on its own actor.
///
/// ```swift
/// let batches = transport.envelopeBatches { $0.featureID == "score" }
/// while let batch = await batches.next() { show(batch) }
/// ```
public struct EnvelopeBatches: Sendable {
    /// Waits for the next turn on the actor that it is given; nil ends the stream.
    public typealias Next = @Sendable (isolated (any Actor)?) async -> [AnySessionSyncEnvelope]?

    private let unfold: Next

    /// Creates batches from a function that waits for the next one.
    ///
    /// - Parameter next: waits on the actor that it is given; nil ends it.
    public init(next: @escaping Next) { unfold = next }

    /// Everything that has gathered since the last turn, at most 256 envelopes; nil when the transport has closed or the
    /// waiting task was cancelled. One call at a time.
    public func next(isolation: isolated (any Actor)? = #isolation) async -> [AnySessionSyncEnvelope]? {
        await unfold(isolation)
    }
}
