import MeshBus
public import MeshEngine
public import MeshIdentity
public import MeshSeries

/// Each call of these is an independent, bounded stream; it ends when the session closes.
extension SyncedSession {
    /// The state now and each time it has changed; of states that a slow reader has not taken only the newest is kept.
    public func states() -> AsyncStream<State> { stateTopic.subscribe(startingWith: [state]) }

    /// How every peer stands, now and each time it has changed; of what a slow reader has not taken the newest is kept.
    public func statuses() -> AsyncStream<[SessionPeerStatus]> { statusTopic.subscribe(startingWith: [peers]) }

    /// How every series stands, now and each time it has changed; of what a slow reader has not taken the newest is kept.
    public func seriesUpdates() -> AsyncStream<[SeriesStatus]> { seriesTopic.subscribe(startingWith: [seriesStatuses]) }

    /// Events of other peers that changed the state, as they take their place. Up to 1024 wait, of which the oldest make
    /// room. What comes with a copy of the whole session is told by `remoteSnapshots()` instead.
    public func remoteEvents() -> AsyncStream<SessionSyncEnvelope<Event>> { remoteEventTopic.subscribe() }

    /// Snapshots of other peers that replaced the state: the newest 16.
    public func remoteSnapshots() -> AsyncStream<SessionSyncSnapshot<State>> { remoteSnapshotTopic.subscribe() }

    /// Events of all peers whose place will never change any more, in their final order, which is the same on every
    /// member. Those that were confirmed before this peer joined are not among them. Up to 4096 wait, of which the oldest
    /// make room; what must not be missed belongs into `SyncedSessionConfiguration.onConfirmed`.
    public func confirmedEvents() -> AsyncStream<SessionConfirmedEvent<Event>> { confirmedTopic.subscribe() }

    /// What ought not to happen and did: the newest 64.
    public func alarms() -> AsyncStream<SessionAlarm> { alarmTopic.subscribe() }
}
