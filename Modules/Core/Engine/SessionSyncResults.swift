/// What an engine did with a received envelope. Each case carries the state afterwards.
public enum SessionSyncReceiveResult<State: Sendable>: Sendable {
    /// The event, and whatever had waited for it, is in its place.
    case applied(State)
    /// The event was held already; nothing changed.
    case duplicate(State)
    /// The policy or the reducer rejected the event; its sequence is recorded, the state unchanged.
    case ignored(State)
    /// Earlier events of the same source are missing; nothing changed.
    case snapshotRequired(expectedSequence: UInt64, receivedSequence: UInt64)
}

extension SessionSyncReceiveResult: Equatable where State: Equatable {}

/// What an engine did with a received snapshot.
public enum SessionSyncSnapshotResult<State: Sendable>: Sendable {
    /// The snapshot told something new, and the state includes it.
    case applied(State)
    /// The snapshot says nothing that is not known here; nothing changed.
    case staleIgnored(state: State, currentRevision: UInt64)
}

extension SessionSyncSnapshotResult: Equatable where State: Equatable {}
