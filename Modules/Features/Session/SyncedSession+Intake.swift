import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshTransport

extension SyncedSession {
    /// One turn of the main actor for all: the state is shown once, and one round does what follows.
    func receive(_ batch: [AnySessionSyncEnvelope]) {
        guard phase == .running, batch.contains(where: { isMine($0.metadata) }) else { return }
        var tally = IntakeTally()
        for erased in batch where isMine(erased.metadata) {
            do {
                if erased.metadata.payloadType == SessionControl.payloadType {
                    try receiveControl(erased, &tally)
                } else {
                    try receiveEvent(erased, &tally)
                }
            } catch {
                tally.rejected += 1
                tell(error, of: erased.metadata)
            }
        }
        show(tally)
        if tally.takesEvents { acknowledgeSoon() }
        wake()
    }

    func receive(_ erased: AnySessionSyncSnapshot) {
        guard phase == .running, isMine(erased.metadata), erased.metadata.sourcePeerID != engine.localPeerID else {
            return
        }
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
            statistics.rejected += 1
            tell(error, of: erased.metadata)
        }
        wake()
    }

    private func tell(_ error: any Error, of metadata: SessionSyncMetadata) {
        guard case SessionSyncError.outOfRange(let field) = error else { return }
        remember(metadata.sourcePeerID) { peer in
            guard !peer.isOutOfRange else { return }
            peer.isOutOfRange = true
            statistics.alarms += 1
            alarmTopic.publish(.outOfRange(peerID: metadata.sourcePeerID, field: field))
        }
    }

    /// Changes what is known of a peer, unless too many are known.
    func remember(_ peerID: String, _ change: (inout HeardPeer) -> Void) {
        guard heard[peerID] != nil || heard.count < HeardPeer.countMax else { return }
        change(&heard[peerID, default: HeardPeer(at: configuration.now())])
    }

    func receive(_ request: SessionSnapshotRequest) {
        guard phase == .running, request.sessionID == sessionID, engine.hasHistory else { return }
        guard request.requester.map(mayKnow) ?? true else {
            statistics.rejected += 1
            return
        }
        answer(request.requester)
    }

    func receive(_ change: SessionPeerReachability) {
        guard phase == .running else { return }
        if let peer = change.peer {
            tellsReachability = true
            if change.isReachable { reachablePeerIDs.insert(peer.id) } else { reachablePeerIDs.remove(peer.id) }
        }
        refreshStatus()
        guard change.isReachable else { return }
        if let staleSnapshot {
            // Now a live peer stands behind it.
            self.staleSnapshot = nil
            receive(staleSnapshot)
        }
        if engine.hasHistory { answer(change.peer) }
        exchangeNow()
    }

    private func isMine(_ metadata: SessionSyncMetadata) -> Bool {
        metadata.featureID == featureID && metadata.sessionID == sessionID
    }
}

// MARK: - Events and controls

extension SyncedSession {
    private func receiveEvent(_ erased: AnySessionSyncEnvelope, _ tally: inout IntakeTally) throws {
        let metadata = erased.metadata
        switch try take(erased, &tally) {
        case .applied: break
        case .duplicate: tally.duplicates += 1
        case .ignored: tally.ignored += 1
        case .snapshotRequired:
            tally.gaps += 1
            // A member's engine sends the missing range; anybody else has nothing but snapshots.
            if !engine.isSealed || !isOpenMember(metadata.sourcePeerID) { requestSnapshot() }
        }
        announceApplied(&tally)
        exchange.unacknowledgedCount += 1
        tally.takesEvents = true
    }

    private func take(
        _ erased: AnySessionSyncEnvelope, _ tally: inout IntakeTally
    ) throws -> SessionSyncReceiveResult<State> {
        let metadata = erased.metadata
        guard metadata.payloadType == engine.payloadType else { return try takeUnread(erased, &tally) }
        let event: Event
        do {
            event = try erased.decodePayload(as: Event.self)
        } catch {
            // A kind of event that this version does not know.
            return try takeUnread(erased, &tally)
        }
        return try engine.receive(SessionSyncEnvelope(metadata: metadata, payload: event))
    }

    private func takeUnread(
        _ erased: AnySessionSyncEnvelope, _ tally: inout IntakeTally
    ) throws -> SessionSyncReceiveResult<State> {
        let payload = try erased.encodedPayload(with: checkpoints.codec)
        let result = try engine.receiveOpaque(
            erased.metadata, bytes: payload.bytes, codec: payload.codec.id.number)
        if case .ignored = result { tally.unread += 1 }
        return result
    }

    private func receiveControl(_ erased: AnySessionSyncEnvelope, _ tally: inout IntakeTally) throws {
        let envelope = SessionSyncEnvelope(
            metadata: erased.metadata, payload: try erased.decodePayload(as: SessionControl.self))
        guard envelope.metadata.sourcePeerID != engine.localPeerID else { return }
        let isNew = heard[envelope.metadata.sourcePeerID] == nil
        try engine.receiveControl(envelope, at: configuration.now())
        tally.controls += 1
        note(envelope.payload, from: envelope.metadata)
        announceApplied(&tally)
        if isNew { exchangeNow() } else { scheduleExchange(exchangePace) }
    }

    func note(_ control: SessionControl, from metadata: SessionSyncMetadata) {
        let peerID = metadata.sourcePeerID
        guard engine.hears(peerID) else { return }
        remember(peerID) { peer in
            peer.at = configuration.now()
            peer.held = control.held
            peer.position = control.position
            // No event since the last exchange: what the peer has sent was lost, and is not under way.
            if exchange.unacknowledgedCount == 0, isOpenMember(peerID), let promised = metadata.promise?.sequence {
                peer.lostThrough = promised > heldSequence(of: peerID) ? promised : 0
            }
        }
    }

    /// Tells of the remote events that the last call to the engine put in their place.
    private func announceApplied(_ tally: inout IntakeTally) {
        let applied = engine.takeApplied()
        for event in applied where event.envelope.metadata.sourcePeerID != engine.localPeerID {
            guard event.outcome == .applied else { continue }
            tally.applied += 1
            if event.replayedCount > 0 { tally.late += 1 }
            remoteEventTopic.publish(event.envelope)
        }
        if !applied.isEmpty { tally.changesState = true }
    }

    /// What has come in becomes visible.
    private func show(_ tally: IntakeTally) {
        tally.add(to: &statistics)
        if tally.changesState || isProvisional != engine.isProvisional { showState() }
    }
}

/// What one turn has taken in. Added up here because each access of an observed property of a generic class costs
/// microseconds.
private struct IntakeTally {
    var applied = 0
    var late = 0
    var duplicates = 0
    var ignored = 0
    var unread = 0
    var gaps = 0
    var rejected = 0
    var controls = 0
    /// Something else than controls came.
    var takesEvents = false
    var changesState = false

    func add(to statistics: inout SessionStatistics) {
        statistics.applied += applied
        statistics.late += late
        statistics.duplicates += duplicates
        statistics.ignored += ignored
        statistics.unread += unread
        statistics.gaps += gaps
        statistics.rejected += rejected
        statistics.controlsReceived += controls
    }
}

// MARK: - Snapshots

extension SyncedSession {
    /// - Returns: whether the copy became this session's.
    private func adopt(_ bytes: [UInt8]?, with snapshot: SessionSyncSnapshot<State>) throws -> Bool {
        guard let bytes else { return false }
        let checkpoint: SessionCheckpoint<State, Event>
        do {
            checkpoint = try checkpoints.checkpoint(SessionCheckpoint<State, Event>.self, from: bytes)
        } catch {
            // The state beside it can still be read.
            statistics.rejected += 1
            return false
        }
        guard try engine.adopt(checkpoint, from: snapshot.metadata, at: configuration.now()) else {
            var tally = IntakeTally()
            announceApplied(&tally)
            show(tally)
            return false
        }
        _ = engine.takeApplied()
        statistics.copiesAdopted += 1
        note(checkpoint.control, from: snapshot.metadata)
        effects.forgetPositions()
        indexOwnEvents()
        showState()
        remoteSnapshotTopic.publish(snapshot)
        exchangeNow()
        return true
    }

    private func show(_ snapshot: SessionSyncSnapshot<State>) throws {
        guard !configuration.isIdle(snapshot.state) else { return refuseSnapshot() }
        switch try engine.applySnapshot(snapshot) {
        case .applied:
            statistics.snapshotsApplied += 1
            shownPeerID = snapshot.metadata.sourcePeerID
            _ = engine.takeApplied()
            showState()
            remoteSnapshotTopic.publish(snapshot)
        case .staleIgnored: statistics.snapshotsStale += 1
        }
    }

    private func refuseSnapshot() {
        statistics.snapshotsRefused += 1
        if !engine.isSealed { requestSnapshot() }
    }

    /// Only a retained snapshot without a live peer behind it can be too old: a workout may be paused for an hour.
    private func isStale(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        guard isRetained(snapshot), reachablePeerIDs.isEmpty else { return false }
        let measured = engine.clockOffset(of: snapshot.metadata.sourcePeerID)?.offsetSeconds
        let sentAt = snapshot.metadata.causalTimestamp
            .addingTimeInterval(-(measured ?? configuration.clockOffsetSeconds))
        return configuration.now().timeIntervalSince(sentAt) > configuration.stalenessBudget.seconds
    }

    private func isRetained(_ snapshot: AnySessionSyncSnapshot) -> Bool {
        guard let retained = retainedSnapshot else { return false }
        return retained.revision == snapshot.revision
            && retained.metadata.sourcePeerID == snapshot.metadata.sourcePeerID
            && retained.metadata.incarnation == snapshot.metadata.incarnation
    }
}

extension SessionSyncEngine {
    /// Whether there is anything that a peer could not know without this one.
    var hasHistory: Bool { !store.lastSequenceByPeerID.isEmpty }
}
