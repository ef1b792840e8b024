package import MeshBase
public import MeshIdentity

/// The receiving half that every transport needs: four multicast streams, the newest snapshot of each feature, and the
/// peers that are reachable now.
///
/// Every subscriber is independent and bounded. A subscriber that is `bufferLimit` elements behind loses elements:
///
/// | stream | dropped element | consequence |
/// |---|---|---|
/// | envelopes | the new one | the engine notices the gap and requests it |
/// | durable envelopes | the new one, if the deliverer ignores `durableRoom` | the envelope is lost |
/// | snapshots, requests, reachability | the oldest | newer ones replace it |
///
/// A subscriber is also full when `waitingBytesMax` bytes wait for it. The last element may exceed that.
///
/// Each drop is counted and reported to `onDrop`. The newest snapshots are kept for up to `featureLimit` features and
/// `keptBytesMax`. Beyond that, the peer that has sent the most loses the feature that has been silent longest.
///
/// **Durable envelopes** have been acknowledged to their sender, so they must not be lost before a subscriber has them.
/// The inbox keeps up to `durableLimit` envelopes that no subscriber wants, or that a subscriber left unread, for the
/// first subscriber that wants them. While there are subscribers, kept envelopes don't block delivery: the oldest are
/// dropped when space runs out, or when `durableLimit` more have arrived. `durableRoom` is the number that may be
/// delivered without dropping one: stop acknowledging at 0, and continue when `whenDurableRoom` calls its closure.
///
/// Safe to use from any thread. No closure is called, and no subscriber woken, while a lock is held.
public final class TransportInbox: Sendable {
    /// One of the inbox's streams.
    public enum Stream: String, Hashable, Sendable, CaseIterable {
        /// The element type of the stream.
        case envelopes, snapshots, requests, reachability
    }

    fileprivate struct Retained {
        var snapshots: [String: AnySessionSyncSnapshot] = [:]
        /// Size of `snapshots` in bytes.
        var bytes = 0
        /// The features of `snapshots`, the longest silent first.
        var features: [String] = []
        /// Peers last reported as reachable, in the order of the reports.
        var reachable: [SessionPeerReachability] = []
    }

    /// Maximum number of features whose newest snapshot is kept.
    public let featureLimit: Int
    /// Maximum number of payload bytes that wait for one slow subscriber of one stream, or for the first subscriber.
    public static let waitingBytesMax = 64 << 20
    /// Maximum number of bytes of the newest snapshots.
    public static let keptBytesMax = 64 << 20

    private let envelopes: Topic<AnySessionSyncEnvelope>
    private let snapshots: Topic<AnySessionSyncSnapshot>
    private let requests: Topic<SessionSnapshotRequest>
    private let reachability: Topic<SessionPeerReachability>
    private let retained = Locked(Retained())

    /// Creates an inbox without subscribers.
    ///
    /// - Parameters:
    ///   - bufferLimit: maximum number of elements that wait for one slow subscriber of one stream.
    ///   - featureLimit: maximum number of features whose newest snapshot is kept.
    ///   - durableLimit: maximum number of durable envelopes that wait for the first subscriber.
    ///   - onDrop: called with the stream and the number of its elements dropped so far, over all subscribers, after
    ///     each delivery that dropped some; on the delivering thread.
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

    /// Delivers an envelope, which may be dropped for a slow subscriber.
    public func deliver(_ envelope: AnySessionSyncEnvelope) { envelopes.publish(envelope) }
    /// Delivers a snapshot request.
    public func deliver(_ request: SessionSnapshotRequest) { requests.publish(request) }
    /// Delivers a snapshot, and keeps it if it is the newest of its feature.
    public func deliver(_ snapshot: AnySessionSyncSnapshot) { enqueue(snapshot).complete() }
    /// Delivers a change of a peer's reachability.
    public func deliver(_ change: SessionPeerReachability) { enqueue(change).complete() }

    /// Delivers several envelopes and wakes each subscriber once.
    /// - Parameter isDurable: true if they must not be lost between subscriptions; see `TransportInbox`.
    public func deliver(_ envelopes: [AnySessionSyncEnvelope], isDurable: Bool = false) {
        enqueue(envelopes, isDurable: isDurable).complete()
    }

    /// Subscribes to all envelopes. See ``SessionSyncTransport/receiveEnvelopes()``.
    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { envelopes.subscribe() }
    /// Subscribes to peers' requests for a snapshot. See ``SessionSyncTransport/receiveSnapshotRequests()``.
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { requests.subscribe() }

    /// Subscribes to wanted envelopes in batches. See ``SessionSyncTransport/envelopeBatches(where:)``. A durable
    /// envelope waits for the first subscriber that wants it.
    public func envelopeBatches(
        where isWanted: @escaping @Sendable (SessionSyncMetadata) -> Bool
    ) -> EnvelopeBatches {
        let batches = envelopes.batches { isWanted($0.metadata) }
        return EnvelopeBatches { await batches.next(isolation: $0) }
    }

    /// Subscribes to changes of reachability, beginning with the peers that are reachable now.
    public func reachabilityChanges() -> AsyncStream<SessionPeerReachability> {
        retained.withLock { reachability.subscribe(startingWith: $0.reachable) }
    }

    /// Subscribes to snapshots, beginning with the newest of each feature.
    public func receiveSnapshots() -> AsyncStream<AnySessionSyncSnapshot> {
        retained.withLock { retained in
            snapshots.subscribe(startingWith: retained.features.compactMap { retained.snapshots[$0] })
        }
    }

    /// Returns the newest snapshot of a feature, if it is kept.
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

    /// Number of elements dropped because a subscriber was too far behind.
    public var droppedCount: UInt64 {
        envelopes.droppedCount + snapshots.droppedCount + requests.droppedCount + reachability.droppedCount
    }
}

// MARK: - Handing over under a lock

// For callers that hold a lock. They complete the handover after releasing it.
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
    /// Number of bytes in the fullest payload buffer and in all newest snapshots, for tests.
    package var heldBytes: (waiting: Int, newest: Int) {
        let newest = retained.withLock { $0.snapshots.values.reduce(0) { $0 + $1.heldBytes } }
        return (max(envelopes.waitingBytes, snapshots.waitingBytes), newest)
    }
}

// MARK: - Space for durable envelopes

extension TransportInbox {
    /// Keeps durable envelopes of an earlier launch for the first subscriber, even more than `durableLimit`. Call it
    /// before anyone subscribes.
    package func restore(_ envelopes: [AnySessionSyncEnvelope]) { self.envelopes.restore(envelopes) }
}

extension TransportInbox {
    /// Number of durable envelopes that can be delivered now without dropping one for any subscriber. Without a
    /// subscriber: `durableLimit` less the kept envelopes. 0 also while `waitingBytesMax` bytes wait. O(subscribers).
    ///
    /// The fullest subscriber decides, so that a slow one loses nothing. A subscriber that never reads must not stop
    /// the others forever: the deliverer has a clock, and calls `abandonFullSubscribers` after a while.
    public var durableRoom: Int { envelopes.availableCount }

    /// The value of `durableRoom`, with the number of bytes that the envelopes may have together.
    package var durableSpace: BufferSpace { envelopes.availableSpace }

    /// Number of durable envelopes that every subscriber has finished, by requesting the next one.
    public var durableDoneCount: UInt64 { envelopes.processedKeptCount }

    /// Calls `body` once, when no subscriber's buffer is more than half full: at once, or on the thread of the
    /// subscriber that has read enough. A later call replaces an earlier one. Not called when a full subscriber goes
    /// away, which may happen during a cancellation, so check `durableRoom` again from time to time.
    public func whenDurableRoom(_ body: @escaping @Sendable () -> Void) { envelopes.onHalfFree(body) }

    /// Excludes full subscribers to envelopes from `durableRoom` until they read again. In the meantime they lose new
    /// envelopes. Does nothing while no subscriber has space.
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

    /// Returns the feature to forget: the longest silent one of the peer that has sent the most. The newest of all
    /// stays.
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
    /// The approximate memory that the snapshot takes, without its names.
    package var heldBytes: Int { (encodedByteCount ?? 0) + (checkpoint?.count ?? 0) + 64 * peerSequenceVector.count }

    /// A copy with the fields that determine its age, but without the state.
    package var withoutState: AnySessionSyncSnapshot? {
        try? AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: revision, state: [UInt8](), peerSequenceVector: [:]))
    }
}

extension AnySessionSyncSnapshot {
    /// Returns true if this snapshot is newer. Revisions count per source, incarnation and session. Between two sources
    /// of a session, the stamp decides. Between two sessions, or without stamps, the sender's clock decides: stamps of
    /// two sessions follow the clocks of different peers.
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

    /// Returns true if `sent` is a newer snapshot of the same session. A snapshot of another session is never
    /// superseded, because the app shows that session now.
    package func isSuperseded(by sent: AnySessionSyncSnapshot?) -> Bool {
        guard let sent, sent.metadata.sessionID == metadata.sessionID else { return false }
        return sent.isNewer(than: self)
    }
}
