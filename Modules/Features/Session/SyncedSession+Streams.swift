import MeshBase
public import MeshEngine
public import MeshIdentity
public import MeshSeries

/// Each call of these is an independent, bounded stream; it ends when the session closes. Those of what nearly every turn
/// changes wait on the main actor, where most readers are.
extension SyncedSession {
    /// The state now and each time it has changed; of states that a slow reader has not taken only the newest is kept.
    public func states() -> AsyncStream<State> { stateTopic.subscribeOnMainActor(startingWith: [state]) }

    /// Returns a stream of the status of all peers: the current one first, then each change. A slow reader gets only
    /// the newest.
    public func statuses() -> AsyncStream<[SessionPeerStatus]> {
        statusTopic.subscribeOnMainActor(startingWith: [peers])
    }

    /// Returns a stream of the status of all series: the current one first, then each change. A slow reader gets only
    /// the newest.
    public func seriesUpdates() -> AsyncStream<[SeriesStatus]> { seriesTopic.subscribe(startingWith: [seriesStatuses]) }

    /// Events of other peers that changed the state, as they take their place. Up to 1024 wait, of which the oldest make
    /// room. What comes with a copy of the whole session is told by `remoteSnapshots()` instead.
    public func remoteEvents() -> AsyncStream<SessionSyncEnvelope<Event>> { remoteEventTopic.subscribeOnMainActor() }

    /// Snapshots of other peers that replaced the state: the newest 16.
    public func remoteSnapshots() -> AsyncStream<SessionSyncSnapshot<State>> { remoteSnapshotTopic.subscribe() }

    /// Events of all peers whose place will never change any more, in their final order, which is the same on every
    /// member. Those that were confirmed before this peer joined are not among them. Up to 4096 wait, of which the oldest
    /// make room; what must not be missed belongs into `SyncedSessionConfiguration.onConfirmed`.
    public func confirmedEvents() -> AsyncStream<SessionConfirmedEvent<Event>> { confirmedTopic.subscribeOnMainActor() }

    /// All of that in one order: what has been applied, what came late, what is confirmed, and the whole state where it is another
    /// one. The first element is the state now.
    ///
    /// Who reads each element before the next has happened gets it as it happened. What waits gathers: events that follow each
    /// other come as one element with the newest state, and what was confirmed after them as another. Beyond `bufferLimit` events
    /// and confirmations that wait, or a single change of more than 1024 or of more than the limit, one `snapshot` stands for
    /// all of them. So a reader costs two states and so many events, however slow it is. Cancelling its task, or letting go of
    /// the stream, frees it; closing the session ends it after what waits.
    public func updates(bufferLimit: Int = 1024) -> AsyncStream<SessionUpdate<State, Event>> {
        let consumer = UpdateConsumer<State, Event>(state, limit: max(1, bufferLimit))
        if phase == .closed {
            consumer.finish()
        } else {
            updateConsumers.add(consumer)
            core.updates.begin(isBehind: core.engine.isBehind)
        }
        return AsyncStream(unfolding: { await consumer.next() }, onCancel: { consumer.cancel() })
    }

    func tell(_ updates: [SessionUpdate<State, Event>]) {
        updateConsumers.append(updates)
        if updateConsumers.isEmpty { core.updates.end() }
    }

    /// Mistakes and lies that the session has noticed, the newest 64. The first subscriber also gets those raised before it came.
    public func alarms() -> AsyncStream<SessionAlarm> {
        defer { unheardAlarms = [] }
        return alarmTopic.subscribe(startingWith: unheardAlarms)
    }

    func tell(_ alarms: [SessionAlarm]) {
        if alarmTopic.subscriberCount == 0 {
            unheardAlarms = (unheardAlarms + alarms).suffix(SessionAlarm.keptMax)
        } else {
            alarmTopic.publish(contentsOf: alarms)
        }
    }
}

extension SessionAlarm {
    /// How many wait for a subscriber.
    static var keptMax: Int { 64 }
}
