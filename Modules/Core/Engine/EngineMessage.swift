import MeshFoundation
import MeshIdentity

/// What a message between engines says, whether it came as a control or with a copy, with every number in range.
///
/// There is no other way from a peer's bytes to the engine's tables: what an engine could not have counted, drawn or
/// listed ends here, so that no sum over it overflows further in.
struct EngineMessage<State: Codable & Sendable, Event: Codable & Sendable> {
    let source: SessionSource
    let sentAt: Date
    let promise: SequencePromise?
    /// Its place among the messages of its author.
    let saidAt: HybridTimestamp
    let control: SessionControl
    let checkpoint: SessionCheckpoint<State, Event>?

    /// - Throws: `SessionSyncError.outOfRange`.
    init(
        _ metadata: SessionSyncMetadata, _ control: SessionControl,
        _ checkpoint: SessionCheckpoint<State, Event>? = nil
    ) throws {
        source = SessionSource(metadata)
        sentAt = metadata.causalTimestamp
        // A promise that no clock could keep is none.
        promise = metadata.promise.flatMap { $0.isUsable ? $0 : nil }
        saidAt = metadata.stamp.isUsable ? metadata.stamp : .zero
        self.control = control
        self.checkpoint = checkpoint
        try control.checkNumbers()
        try checkpoint?.checkNumbers()
    }
}
