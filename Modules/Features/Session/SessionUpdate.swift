public import MeshEngine

/// A change in a session, as reported by `SyncedSession.updates()`.
///
/// ```swift
/// for await update in session.updates() {
///     switch update {
///     case .snapshot(let state, _, _): draw(state)
///     case .applied(let events, let state): log(events); draw(state)
///     case .reordered(_, let state): draw(state)
///     case .confirmed(let events): mark(events)
///     }
/// }
/// ```
public enum SessionUpdate<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The complete state, which replaces everything before. `missed` events and confirmations weren't reported
    /// separately.
    case snapshot(State, SessionSnapshotReason, missed: Int)
    /// Events of any peer, this device included, that took their places after all others, in order, and the state after
    /// them. Each event's outcome says what it did.
    case applied([SessionAppliedEvent<Event>], State)
    /// Applied events of which at least one came late. The session rolled back later events and reduced them again; the
    /// late one's `replayedCount` says how many. Values derived from single events may be outdated; the state is right.
    case reordered([SessionAppliedEvent<Event>], State)
    /// Events whose place is final. Each was reported as applied before, or is in a snapshot.
    case confirmed([SessionConfirmedEvent<Event>])
}

/// The reason why an update has the complete state.
public enum SessionSnapshotReason: Hashable, Sendable {
    /// The first update of the stream.
    case first
    /// This device adopted a copy of the session from that peer.
    case adopted(from: String)
    /// The state is that peer's snapshot, and this device doesn't hold its events.
    case shown(from: String)
    /// A peer's state is no longer shown, or this device continues under a new source.
    case renewed
    /// More updates were waiting than the reader's buffer holds.
    case skipped
}
