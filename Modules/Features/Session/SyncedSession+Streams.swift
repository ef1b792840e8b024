import MeshBase
public import MeshEngine
public import MeshIdentity
public import MeshSeries

/// Streams of the session's changes. Each call returns an independent, bounded stream that ends when the session
/// closes. Streams of frequent changes deliver on the main actor, where most readers are.
extension SyncedSession {
    /// Returns a stream of the state: the current one first, then each change. A slow reader gets only the newest.
    public func states() -> AsyncStream<State> { stateTopic.subscribeOnMainActor(startingWith: [state]) }

    /// Returns a stream of all peers' status: the current one first, then changes. A slow reader gets only the newest.
    public func statuses() -> AsyncStream<[SessionPeerStatus]> {
        statusTopic.subscribeOnMainActor(startingWith: [peers])
    }

    /// Returns a stream of all series' status: the current one first, then changes. A slow reader gets only the newest.
    public func seriesUpdates() -> AsyncStream<[SeriesStatus]> { seriesTopic.subscribe(startingWith: [seriesStatuses]) }

    /// Returns a stream of other peers' events that changed the state, as they take their place. Keeps the newest 1024.
    /// The events inside an adopted copy of the session come as one element of `remoteSnapshots()` instead.
    public func remoteEvents() -> AsyncStream<SessionSyncEnvelope<Event>> { remoteEventTopic.subscribeOnMainActor() }

    /// Returns a stream of other peers' snapshots that replaced the state. Keeps the newest 16.
    public func remoteSnapshots() -> AsyncStream<SessionSyncSnapshot<State>> { remoteSnapshotTopic.subscribe() }

    /// Returns a stream of all peers' confirmed events in their final order, which is the same on every member. Omits
    /// events that were confirmed before this peer joined. Keeps the newest 4096; use
    /// `SyncedSessionConfiguration.onConfirmed` for work that must not miss any.
    public func confirmedEvents() -> AsyncStream<SessionConfirmedEvent<Event>> { confirmedTopic.subscribeOnMainActor() }

    /// Returns a stream of everything that changes the session's state or its confirmation, in one order. The first
    /// element is the current state.
    ///
    /// A reader that reads each element before the next arrives gets every change. Waiting elements are merged:
    /// consecutive events become one element with the newest state, and their confirmations another. One `snapshot`
    /// replaces them all if more than `bufferLimit` events and confirmations wait, or if a single change has more than
    /// 1024 or more than the limit. So a slow reader costs two states and that many events at most. Cancelling its task
    /// or releasing the stream frees it. When the session closes, the stream ends after the waiting elements.
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

    func publish(_ updates: [SessionUpdate<State, Event>]) {
        updateConsumers.append(updates)
        if updateConsumers.isEmpty { core.updates.end() }
    }

    /// Returns a stream of alarms: faults and contradictions that the session noticed. Keeps the newest 64, and gives
    /// the first subscriber earlier ones too.
    public func alarms() -> AsyncStream<SessionAlarm> {
        defer { bufferedAlarms = [] }
        return alarmTopic.subscribe(startingWith: bufferedAlarms)
    }

    func publish(_ alarms: [SessionAlarm]) {
        if alarmTopic.subscriberCount == 0 {
            bufferedAlarms = (bufferedAlarms + alarms).suffix(SessionAlarm.keptMax)
        } else {
            alarmTopic.publish(contentsOf: alarms)
        }
    }
}

extension SessionAlarm {
    /// Maximum number of alarms kept for a subscriber.
    static var keptMax: Int { 64 }
}
