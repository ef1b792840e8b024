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

    /// Returns a stream of everything that changes the session's state or its confirmation, in one order. The first
    /// element is the current state.
    ///
    /// A reader that reads each element before the next arrives gets every change. Waiting elements are merged:
    /// consecutive events become one element with the newest state, and what was confirmed after them becomes another.
    /// If more than `bufferLimit` events and confirmations wait, or a single change has more than 1024 or more than the
    /// limit, one `snapshot` replaces them all. So a slow reader costs two states and that many events at most.
    /// Cancelling its task or releasing the stream frees it. Closing the session ends it after the waiting elements.
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
