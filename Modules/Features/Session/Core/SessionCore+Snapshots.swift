import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport

/// Receiving peers' states and copies, answering requests for them, and requesting them.
extension SessionCore {
    mutating func receive(_ erased: AnySessionSyncSnapshot) {
        guard isRunning, isMine(erased.metadata), erased.metadata.sourcePeerID != engine.localPeerID else { return }
        // Reduce waiting events first, so that they aren't reported together with a shown state or an adopted copy.
        if !engine.isSealed { catchUp() }
        do {
            guard !isStale(erased) else {
                staleSnapshot = erased
                return refuseSnapshot()
            }
            let snapshot = SessionSyncSnapshot(
                metadata: erased.metadata, revision: erased.revision, state: try erased.decodeState(as: State.self),
                peerSequenceVector: erased.peerSequenceVector)
            if try !adopt(erased.checkpoint, with: snapshot) { try show(snapshot) }
        } catch {
            reject(erased.metadata, error)
        }
        wake()
    }

    /// Returns true if this session adopted the copy.
    private mutating func adopt(_ bytes: [UInt8]?, with snapshot: SessionSyncSnapshot<State>) throws -> Bool {
        guard let bytes else { return false }
        let checkpoint: SessionCheckpoint<State, Event>
        do {
            checkpoint = try checkpoints.checkpoint(from: bytes)
        } catch {
            // The snapshot's state may still be readable.
            statistics.rejected += 1
            return false
        }
        return try adopt(checkpoint, from: snapshot.metadata, revision: snapshot.revision)
    }

    /// Returns true if this session adopted the copy.
    mutating func adopt(
        _ checkpoint: SessionCheckpoint<State, Event>, from metadata: SessionSyncMetadata, revision: UInt64
    ) throws -> Bool {
        let wasProvisional = engine.isProvisional
        updateOwnership(of: metadata.sourcePeerID)
        guard try engine.adopt(checkpoint, from: metadata, at: moment.now) else {
            announceApplied()
            if engine.isProvisional != wasProvisional { directives.showsState = true }
            return false
        }
        statistics.copiesAdopted += 1
        // Timers in the copy may have started by another clock.
        steadySince = max(steadySince, moment.now, engine.firstUnusedMoment)
        note(checkpoint.control, from: metadata)
        effects.beginHistory()
        indexOwnEvents()
        _ = engine.takeApplied()
        adoptedCopy = AdoptedCopy(metadata: metadata, revision: revision)
        announceApplied()
        exchangeNow()
        return true
    }

    /// Publishes an adopted copy as one snapshot.
    mutating func publishAdoptedCopy() {
        guard let copy = adoptedCopy.take() else { return }
        let store = engine.store
        updates.record(.adopted(from: copy.metadata.sourcePeerID))
        directives.showsState = true
        directives.remoteSnapshots.append(
            SessionSyncSnapshot(
                metadata: copy.metadata, revision: copy.revision, state: store.state,
                peerSequenceVector: store.lastSequenceByPeerID))
    }

    private mutating func show(_ snapshot: SessionSyncSnapshot<State>) throws {
        guard !configuration.isIdle(snapshot.state) else { return refuseSnapshot() }
        switch try engine.applySnapshot(snapshot) {
        case .applied:
            statistics.snapshotsApplied += 1
            shownPeerID = snapshot.metadata.sourcePeerID
            publishShownState(snapshot)
        case .staleIgnored: statistics.snapshotsStale += 1
        }
    }

    /// Publishes a shown state as one snapshot.
    private mutating func publishShownState(_ snapshot: SessionSyncSnapshot<State>) {
        _ = engine.takeApplied()
        updates.record(.shown(from: snapshot.metadata.sourcePeerID))
        directives.showsState = true
        directives.remoteSnapshots.append(snapshot)
    }

    private mutating func refuseSnapshot() {
        statistics.snapshotsRefused += 1
        if !engine.isSealed { requestSnapshot() }
    }

    /// Returns true if a retained snapshot is too old. Never while a peer is in reach: a workout may pause for an hour.
    private func isStale(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        guard isRetained(snapshot), reachablePeerIDs.isEmpty else { return false }
        let measured = engine.clockOffset(of: snapshot.metadata.sourcePeerID)?.offsetSeconds
        let sentAt = snapshot.metadata.causalTimestamp
            .addingTimeInterval(-(measured ?? configuration.clockOffsetSeconds))
        return moment.now.timeIntervalSince(sentAt) > configuration.stalenessBudget.seconds
    }

    private func isRetained(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        guard let retained = retainedSnapshot else { return false }
        return retained.revision == snapshot.revision
            && retained.metadata.sourcePeerID == snapshot.metadata.sourcePeerID
            && retained.metadata.incarnation == snapshot.metadata.incarnation
    }

    // MARK: - Answers

    mutating func receive(_ request: SessionSnapshotRequest) {
        guard isRunning, request.sessionID == engine.sessionID, engine.hasHistory else { return }
        guard request.requester.map(isInAudience) ?? true else {
            statistics.rejected += 1
            return
        }
        answer(request.requester)
    }

    mutating func answer(_ peer: SessionPeer?) {
        guard let peer else { return publishSnapshot() }
        guard isInAudience(peer) else { return }
        outgoing.snapshotReceivers.peers.insert(peer)
        wake()
    }

    /// Sends the state to every peer, once per round no matter how often it is requested.
    mutating func publishSnapshot() {
        isStatePending = false
        outgoing.snapshotReceivers.includesEveryPeer = true
        wake()
    }

    /// Sends the state after an own event. Members that hear the events need it only for their next launch. So while
    /// all of them are in reach, it is sent at most once in five exchange intervals.
    mutating func publishState() {
        let interval = 5 * configuration.exchangeInterval.seconds
        guard let lastPublished, allReceiversGetEvents else { return publishSnapshot() }
        let wait = interval - abs(moment.now.timeIntervalSince(lastPublished.at))
        guard wait > 0 else { return publishSnapshot() }
        guard !isStatePending else { return }
        isStatePending = true
        directives.stateIn = .seconds(wait)
    }

    mutating func publishPendingState() {
        if isStatePending { publishSnapshot() }
    }

    /// True if each receiver of the state is a member in reach that has been heard.
    private var allReceiversGetEvents: Bool {
        guard engine.isSealed, reportsReachability else { return false }
        let others = engine.membership.open.map(\.source.peerID).filter { $0 != engine.localPeerID }
        return others.allSatisfy { reachablePeerIDs.contains($0) && heard[$0] != nil }
            && (configuration.audience == .members || moment.knownPeers.allSatisfy { engine.hears($0.id) })
    }

    /// Sends the state to peers that only watch, if members' events have changed it. At most once per exchange
    /// interval. Own events send the state anyway.
    mutating func publishStateToSpectators() {
        guard configuration.audience == .everyPeer, engine.isSealed, engine.hasHistory,
            moment.knownPeers.contains(where: { !engine.hears($0.id) })
        else { return }
        if let lastPublished {
            let age = abs(moment.now.timeIntervalSince(lastPublished.at))
            guard lastPublished.held != engine.held, age >= configuration.exchangeInterval.seconds else { return }
        }
        publishSnapshot()
    }

    // MARK: - Requests

    /// Requests peers' state, at most once in `requestInterval`. A request that comes sooner is delayed, not dropped:
    /// the answer in flight may be older than the gap, and no later event may reveal that gap again.
    mutating func requestSnapshot() {
        let sinceLast = lastRequestAt.map { moment.now.timeIntervalSince($0) } ?? .infinity
        let remaining = configuration.requestInterval.seconds - sinceLast
        guard sinceLast >= 0, remaining > 0 else { return sendRequest() }
        guard !isRequestPending else { return }
        isRequestPending = true
        directives.requestIn = .seconds(remaining)
    }

    mutating func sendPendingRequest() {
        if isRequestPending { sendRequest() }
    }

    private mutating func sendRequest() {
        isRequestPending = false
        lastRequestAt = moment.now
        outgoing.requestsSnapshot = true
        wake()
    }
}
