package import MeshBase
public import MeshIdentity

/// The receiving half that every transport needs: four multicast streams, the newest snapshot of each feature, and who
/// is reachable now.
///
/// Every subscriber is independent and bounded. What happens to one that is `bufferLimit` elements behind:
///
/// | stream | is dropped | and then |
/// |---|---|---|
/// | envelopes | the new one | the engine notices the gap and asks |
/// | durable envelopes | the new one, unless whoever delivers heeds `durableRoom` | the caller has lost it |
/// | snapshots, requests, reachability | the oldest | newer ones say more |
///
/// So is one for which `waitingBytesMax` wait, however few elements they are; the last to find room may exceed them.
///
/// Each drop is counted and told to `onDrop`. The newest snapshots are kept for up to `featureLimit` features and
/// `keptBytesMax`; beyond it the peer that has sent the most loses the feature that has been silent longest.
///
/// **Durable envelopes** have been acknowledged to their sender and must not be lost on the last few steps. Those that no
/// subscriber wants are kept, `durableLimit` of them, and handed to the first who does; and so are those that a subscriber
/// leaves behind unread and nobody else wants. While there are subscribers nothing waits for what they do not want: of it
/// the oldest make room, and it goes when `durableLimit` more have come. `durableRoom` says how many more may be delivered without dropping one: stop
/// acknowledging at 0, and go on when `whenDurableRoom` calls.
///
/// Safe to use from any thread. No closure is called, and no subscriber woken, while a lock is held.
public final class TransportInbox: Sendable {
    /// One of the inbox's streams.
    public enum Stream: String, Hashable, Sendable, CaseIterable {
        /// One for each of the four `receive…` methods of a transport.
        case envelopes, snapshots, requests, reachability
    }

    fileprivate struct Retained {
        var snapshots: [String: AnySessionSyncSnapshot] = [:]
        /// Of `snapshots`.
        var bytes = 0
        /// Features, the one that has been silent longest first.
        var features: [String] = []
        /// Peers that were last announced as reachable, in the order of the announcements.
        var reachable: [SessionPeerReachability] = []
    }

    /// Features of which the newest snapshot is kept.
    public let featureLimit: Int
    /// Bytes of payload that wait for one slow subscriber of one stream, or for the first.
    public static let waitingBytesMax = 64 << 20
    /// Bytes of the newest snapshots.
    public static let keptBytesMax = 64 << 20

    private let envelopes: Topic<AnySessionSyncEnvelope>
    private let snapshots: Topic<AnySessionSyncSnapshot>
    private let requests: Topic<SessionSnapshotRequest>
    private let reachability: Topic<SessionPeerReachability>
    private let retained = Locked(Retained())

    /// Creates an inbox without subscribers.
    ///
    /// - Parameters:
    ///   - bufferLimit: elements that wait for one slow subscriber of one stream.
    ///   - featureLimit: features of which the newest snapshot is kept.
    ///   - durableLimit: durable envelopes that wait for the first subscriber.
    ///   - onDrop: is told the stream and how many of its elements were dropped so far, over all subscribers, after each
    ///     delivery that dropped some; on the thread that delivered.
    public init(
        bufferLimit: Int = 4096, featureLimit: Int = 256, durableLimit: Int = 4096,
        onDrop: (@Sendable (Stream, _ droppedCount: UInt64) -> Void)? = nil
    ) {
        func reporting(_ stream: Stream) -> (@Sendable (UInt64) -> Void)? {
            guard let onDrop else { return nil }
            return { onDrop(stream, $0) }
        }
        self.featureLimit = featureLimit
        envelopes = Topic(
            bufferLimit: bufferLimit, overflow: .dropNewest, replaysLatest: false, keptLimit: durableLimit,
            bytesMax: Self.waitingBytesMax, weigh: { $0.encodedByteCount ?? 0 }, onDrop: reporting(.envelopes))
        snapshots = Topic(
            bufferLimit: bufferLimit, overflow: .dropOldest, replaysLatest: false, keptLimit: 0,
            bytesMax: Self.waitingBytesMax, weigh: { $0.heldBytes }, onDrop: reporting(.snapshots))
        requests = Topic(bufferLimit: bufferLimit, overflow: .dropOldest, onDrop: reporting(.requests))
        reachability = Topic(bufferLimit: bufferLimit, overflow: .dropOldest, onDrop: reporting(.reachability))
    }

    /// An envelope has arrived; it may be dropped for a slow subscriber.
    public func deliver(_ envelope: AnySessionSyncEnvelope) { envelopes.publish(envelope) }
    /// A request has arrived.
    public func deliver(_ request: SessionSnapshotRequest) { requests.publish(request) }
    /// A snapshot has arrived: it is kept as the newest of its feature if it is, and handed to subscribers.
    public func deliver(_ snapshot: AnySessionSyncSnapshot) { enqueue(snapshot).complete() }
    /// A peer has come or gone.
    public func deliver(_ change: SessionPeerReachability) { enqueue(change).complete() }

    /// Several at the price of one: each subscriber is woken once.
    /// - Parameter isDurable: they must not be lost between subscriptions; see above.
    public func deliver(_ envelopes: [AnySessionSyncEnvelope], isDurable: Bool = false) {
        enqueue(envelopes, isDurable: isDurable).complete()
    }

    /// Subscribes to all envelopes. See ``SessionSyncTransport/receiveEnvelopes()``.
    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { envelopes.subscribe() }
    /// Subscribes to peers' requests for a snapshot. See ``SessionSyncTransport/receiveSnapshotRequests()``.
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { requests.subscribe() }

    /// Subscribes to wanted envelopes in batches. See ``SessionSyncTransport/envelopeBatches(where:)``. An envelope
    /// waits for the first subscriber that wants it.
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        let batches = envelopes.batches { isWanted($0.metadata) }
        return EnvelopeBatches { await batches.next(isolation: $0) }
    }

    /// Begins with the peers that are reachable now.
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        retained.withLock { reachability.subscribe(startingWith: $0.reachable) }
    }

    /// Begins with the newest snapshot of each feature.
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> {
        retained.withLock { retained in
            snapshots.subscribe(startingWith: retained.features.compactMap { retained.snapshots[$0] })
        }
    }

    /// The newest snapshot of a feature that is kept.
    public func latestSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        retained.withLock { $0.snapshots[featureID] }
    }

    /// Ends every stream after its waiting elements. Durable envelopes without a subscriber are lost. Idempotent.
    public func close() {
        envelopes.finish()
        snapshots.finish()
        requests.finish()
        reachability.finish()
    }

    /// Elements dropped because a subscriber was too far behind.
    public var droppedCount: UInt64 {
        envelopes.droppedCount + snapshots.droppedCount + requests.droppedCount + reachability.droppedCount
    }
}

// MARK: - Handing over under a lock

// Who holds a lock completes the hand-over after letting go of it.
extension TransportInbox {
    package func enqueue(_ envelopes: [AnySessionSyncEnvelope], isDurable: Bool) -> TopicHandover {
        self.envelopes.enqueue(contentsOf: envelopes, isKept: isDurable)
    }

    package func enqueue(_ request: SessionSnapshotRequest) -> TopicHandover { requests.enqueue(request) }

    package func enqueue(_ snapshot: AnySessionSyncSnapshot) -> TopicHandover {
        retained.withLock { retained in
            retained.keep(snapshot, featureLimit: featureLimit)
            return snapshots.enqueue(snapshot)
        }
    }

    package func enqueue(_ change: SessionPeerReachability) -> TopicHandover {
        retained.withLock { retained in
            retained.reachable.removeAll { $0.peer?.id == change.peer?.id }
            if change.isReachable { retained.reachable.append(change) }
            return reachability.enqueue(change)
        }
    }
}

extension TransportInbox {
    /// What the fullest buffer of payloads weighs, and all of the newest snapshots; for whoever examines it.
    package var heldBytes: (waiting: Int, newest: Int) {
        let newest = retained.withLock { $0.snapshots.values.reduce(0) { $0 + $1.heldBytes } }
        return (max(envelopes.waitingBytes, snapshots.waitingBytes), newest)
    }
}

// MARK: - Room for durable envelopes

extension TransportInbox {
    /// The number of durable envelopes that can be delivered now without dropping one for any subscriber:
    /// `durableLimit` less the envelopes kept while there is no subscriber. 0 also while `waitingBytesMax` bytes wait.
    /// O(subscribers).
    ///
    /// The fullest subscriber decides, so that a slow one loses nothing. A subscriber that never reads must not stop
    /// the others forever: the deliverer has a clock, and calls `abandonFullSubscribers` after a while.
    public var durableRoom: Int { envelopes.room }

    /// The same, and how many bytes they may have together.
    package var durableSpace: TopicRoom { envelopes.space }

    /// The number of durable envelopes that every subscriber is done with, having asked for the next one.
    public var durableDoneCount: UInt64 { envelopes.keptDoneCount }

    /// Calls `body` once, when no subscriber's buffer is more than half full: at once if that is so, else on the thread of
    /// the subscriber that has taken enough. A later call replaces an earlier one. Not called when a full subscriber goes,
    /// which may be within a cancellation; so ask `durableRoom` again now and then.
    public func whenDurableRoom(_ body: @escaping @Sendable () -> Void) { envelopes.whenRoom(body) }

    /// Subscribers to envelopes that are full do not count for `durableRoom` until they take something again: what is
    /// delivered is dropped for them. Does nothing while there is no subscriber with room.
    public func abandonFullSubscribers() { envelopes.abandonFullSubscribers() }
}

extension TransportInbox.Retained {
    fileprivate mutating func keep(_ snapshot: AnySessionSyncSnapshot, featureLimit: Int) {
        let feature = snapshot.metadata.featureID
        if let kept = snapshots[feature], kept.isNewer(than: snapshot) { return }
        forget(feature)
        features.append(feature)
        snapshots[feature] = snapshot
        bytes += snapshot.heldBytes
        while features.count > 1, features.count > featureLimit || bytes > TransportInbox.keptBytesMax {
            forget(dispensable(byBytes: features.count <= featureLimit))
        }
    }

    private mutating func forget(_ feature: String) {
        features.removeAll { $0 == feature }
        bytes -= snapshots.removeValue(forKey: feature)?.heldBytes ?? 0
    }

    /// Of whoever has sent the most, what has been silent longest; the newest of all stays.
    private func dispensable(byBytes: Bool) -> String {
        var shares: [String: Int] = [:]
        for feature in features {
            guard let snapshot = snapshots[feature] else { continue }
            shares[snapshot.metadata.sourcePeerID, default: 0] += byBytes ? snapshot.heldBytes : 1
        }
        let greediest = shares.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        let candidates = features.dropLast()
        return candidates.first { snapshots[$0]?.metadata.sourcePeerID == greediest } ?? features[0]
    }
}

extension AnySessionSyncSnapshot {
    /// About what it takes in memory beside its names.
    package var heldBytes: Int { (encodedByteCount ?? 0) + (checkpoint?.count ?? 0) + 64 * peerSequenceVector.count }

    /// What tells its age, without what it holds.
    package var withoutState: AnySessionSyncSnapshot? {
        try? AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: revision, state: [UInt8](), peerSequenceVector: [:]))
    }
}

extension AnySessionSyncSnapshot {
    /// Revisions count per source and session. Between two sources of a session, what was sent later by its stamp is newer. Stamps
    /// of two sessions have followed the clocks of different peers: there, and where there are none, the sender's clock decides.
    package func isNewer(than other: AnySessionSyncSnapshot) -> Bool {
        let mine = metadata
        let theirs = other.metadata
        guard mine.sessionID == theirs.sessionID else { return mine.causalTimestamp > theirs.causalTimestamp }
        if mine.sourcePeerID == theirs.sourcePeerID, mine.incarnation == theirs.incarnation {
            return revision > other.revision
        }
        if mine.stamp != theirs.stamp, mine.stamp != .zero, theirs.stamp != .zero { return mine.stamp > theirs.stamp }
        return mine.causalTimestamp > theirs.causalTimestamp
    }

    /// Whether to send it is too late. The state of another session, which the app shows now, never is.
    package func isSuperseded(by sent: AnySessionSyncSnapshot?) -> Bool {
        guard let sent, sent.metadata.sessionID == metadata.sessionID else { return false }
        return sent.isNewer(than: self)
    }
}
