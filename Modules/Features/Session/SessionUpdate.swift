public import MeshEngine

/// One step of what happens in a session, as `SyncedSession.updates()` tells it.
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
    /// The whole state, in place of everything before it, of which that many events and confirmations were not told one by one.
    case snapshot(State, SessionSnapshotReason, missed: Int)
    /// Events of any peer, this device included, that took their places after all others, in their order; and the state after
    /// them. What each did there is its outcome.
    case applied([SessionAppliedEvent<Event>], State)
    /// Events were applied, and at least one came late: later events were rolled back and reduced again, as many as its
    /// `replayedCount` says. Anything derived from single events before may be outdated; the state is right.
    case reordered([SessionAppliedEvent<Event>], State)
    /// Events whose places will never change. Each was told as applied before, or is in a snapshot.
    case confirmed([SessionConfirmedEvent<Event>])
}

/// Why the whole state is told.
public enum SessionSnapshotReason: Hashable, Sendable {
    /// The first update of the stream.
    case first
    /// A copy of the session was taken over from that peer.
    case adopted(from: String)
    /// The state comes from that peer, and this device doesn't hold its events.
    case shown(from: String)
    /// The state shown from a peer is gone, or this device continues under a new source.
    case renewed
    /// More has happened than the reader's buffer takes.
    case skipped
}
