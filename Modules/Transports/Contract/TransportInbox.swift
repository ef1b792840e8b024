import MeshBus
public import MeshIdentity

/// The receiving half that every transport needs: four multicast streams, the newest snapshot of each feature, and who
/// is reachable now.
///
/// Every subscriber is independent and bounded. When a subscriber is `bufferLimit` elements behind, further envelopes are
/// dropped for it (the engine notices the gap and asks) and counted; of snapshots, requests and reachability the newest
/// are kept. The newest snapshots are kept for up to `featureLimit` features; beyond it the one that has been silent
/// longest is forgotten.
///
/// Safe to use from any thread.
public final class TransportInbox: Sendable {
    fileprivate struct Retained {
        var snapshots: [String: AnySessionSyncSnapshot] = [:]
        /// Features, the one that has been silent longest first.
        var features: [String] = []
        /// Peers that were last announced as reachable, in the order of the announcements.
        var reachable: [SessionPeerReachability] = []
    }

    public let featureLimit: Int
    private let envelopes: Topic<AnySessionSyncEnvelope>
    private let snapshots: Topic<AnySessionSyncSnapshot>
    private let requests: Topic<SessionSnapshotRequest>
    private let reachability: Topic<SessionPeerReachability>
    private let retained = Locked(Retained())

    public init(bufferLimit: Int = 4096, featureLimit: Int = 256) {
        self.featureLimit = featureLimit
        envelopes = Topic(bufferLimit: bufferLimit, overflow: .dropNewest)
        snapshots = Topic(bufferLimit: bufferLimit, overflow: .dropOldest)
        requests = Topic(bufferLimit: bufferLimit, overflow: .dropOldest)
        reachability = Topic(bufferLimit: bufferLimit, overflow: .dropOldest)
    }

    public func deliver(_ envelope: AnySessionSyncEnvelope) { envelopes.publish(envelope) }
    public func deliver(_ request: SessionSnapshotRequest) { requests.publish(request) }

    public func deliver(_ snapshot: AnySessionSyncSnapshot) {
        retained.withLock { retained in
            retained.keep(snapshot, featureLimit: featureLimit)
            snapshots.publish(snapshot)
        }
    }

    public func deliver(_ change: SessionPeerReachability) {
        retained.withLock { retained in
            retained.reachable.removeAll { $0.peer?.id == change.peer?.id }
            if change.isReachable { retained.reachable.append(change) }
            reachability.publish(change)
        }
    }

    public func receiveEnvelopes() -> AsyncStream<AnySessionSyncEnvelope> { envelopes.subscribe() }
    public func receiveSnapshotRequests() -> AsyncStream<SessionSnapshotRequest> { requests.subscribe() }

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

    public func latestSnapshot(featureID: String) -> AnySessionSyncSnapshot? {
        retained.withLock { $0.snapshots[featureID] }
    }

    /// Ends every stream after what it still holds. Idempotent.
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

extension TransportInbox.Retained {
    fileprivate mutating func keep(_ snapshot: AnySessionSyncSnapshot, featureLimit: Int) {
        let feature = snapshot.metadata.featureID
        if let kept = snapshots[feature], kept.isNewer(than: snapshot) { return }
        features.removeAll { $0 == feature }
        features.append(feature)
        snapshots[feature] = snapshot
        if features.count > featureLimit { snapshots[features.removeFirst()] = nil }
    }
}

extension AnySessionSyncSnapshot {
    /// Revisions count per source and session: between two of those, what was sent later by its stamp or by its sender's
    /// clock is newer.
    package func isNewer(than other: AnySessionSyncSnapshot) -> Bool {
        let mine = metadata
        let theirs = other.metadata
        if mine.sourcePeerID == theirs.sourcePeerID, mine.incarnation == theirs.incarnation,
            mine.sessionID == theirs.sessionID
        {
            return revision > other.revision
        }
        if mine.stamp != theirs.stamp, mine.stamp != .zero, theirs.stamp != .zero { return mine.stamp > theirs.stamp }
        return mine.causalTimestamp > theirs.causalTimestamp
    }
}
