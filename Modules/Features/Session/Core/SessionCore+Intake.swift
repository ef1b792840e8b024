import Foundation
import MeshEngine
import MeshIdentity
import MeshTransport

/// Events and controls of peers.
extension SessionCore {
    /// All of it in one turn: the state is shown once, and one round does what follows.
    mutating func receive(_ batch: [AnySessionSyncEnvelope]) {
        guard isRunning, batch.contains(where: { isMine($0.metadata) }) else { return }
        let wasProvisional = engine.isProvisional
        var takesEvents = false
        for erased in batch where isMine(erased.metadata) {
            do {
                if erased.metadata.payloadType == SessionControl.payloadType {
                    try receiveControl(erased)
                } else {
                    try receiveEvent(erased)
                    takesEvents = true
                }
            } catch {
                reject(erased.metadata, error)
            }
        }
        if engine.isProvisional != wasProvisional { directives.showsState = true }
        if takesEvents { acknowledgeSoon() }
        wake()
    }

    func isMine(_ metadata: SessionSyncMetadata) -> Bool {
        metadata.featureID == engine.featureID && metadata.sessionID == engine.sessionID
    }

    mutating func reject(_ metadata: SessionSyncMetadata, _ error: any Error) {
        statistics.rejected += 1
        guard case SessionSyncError.outOfRange(let field) = error else { return }
        let peerID = metadata.sourcePeerID
        guard heard[peerID]?.isOutOfRange != true, remember(peerID, { $0.isOutOfRange = true }) else { return }
        tell(.outOfRange(peerID: peerID, field: field))
    }

    /// Changes what is known of a peer, unless too many are known.
    @discardableResult
    mutating func remember(_ peerID: String, _ change: (inout HeardPeer) -> Void) -> Bool {
        guard heard[peerID] != nil || heard.count < HeardPeer.countMax else { return false }
        change(&heard[peerID, default: HeardPeer(at: moment.now)])
        return true
    }

    /// Tells of the remote events that the last call to the engine put in their place.
    mutating func announceApplied() {
        let applied = engine.takeApplied()
        for event in applied where event.envelope.metadata.sourcePeerID != engine.localPeerID {
            guard event.outcome == .applied else { continue }
            statistics.applied += 1
            if event.replayedCount > 0 { statistics.late += 1 }
            directives.remoteEvents.append(event.envelope)
        }
        if !applied.isEmpty { directives.showsState = true }
    }

    // MARK: - Events

    private mutating func receiveEvent(_ erased: AnySessionSyncEnvelope) throws {
        switch try take(erased) {
        case .applied: break
        case .duplicate: statistics.duplicates += 1
        case .ignored: statistics.ignored += 1
        case .snapshotRequired:
            statistics.gaps += 1
            // A member's engine sends the missing range; anybody else has nothing but snapshots.
            if !engine.isSealed || !isOpenMember(erased.metadata.sourcePeerID) { requestSnapshot() }
        }
        announceApplied()
        exchange.unacknowledgedCount += 1
    }

    private mutating func take(_ erased: AnySessionSyncEnvelope) throws -> SessionSyncReceiveResult<State> {
        let metadata = erased.metadata
        // A kind of event that this version does not know is kept unread.
        guard metadata.payloadType == engine.payloadType, let event = try? erased.decodePayload(as: Event.self) else {
            return try takeUnread(erased)
        }
        return try engine.receive(SessionSyncEnvelope(metadata: metadata, payload: event))
    }

    private mutating func takeUnread(_ erased: AnySessionSyncEnvelope) throws -> SessionSyncReceiveResult<State> {
        let payload = try erased.encodedPayload(with: checkpoints.codec)
        let result = try engine.receiveOpaque(
            erased.metadata, bytes: payload.bytes, codec: payload.codec.id.number)
        if case .ignored = result { statistics.unread += 1 }
        return result
    }

    // MARK: - Controls

    private mutating func receiveControl(_ erased: AnySessionSyncEnvelope) throws {
        let envelope = SessionSyncEnvelope(
            metadata: erased.metadata, payload: try erased.decodePayload(as: SessionControl.self))
        guard envelope.metadata.sourcePeerID != engine.localPeerID else { return }
        let isNew = heard[envelope.metadata.sourcePeerID] == nil
        try engine.receiveControl(envelope, at: moment.now)
        statistics.controlsReceived += 1
        note(envelope.payload, from: envelope.metadata)
        announceApplied()
        if isNew { exchangeNow() } else { scheduleExchange(exchangePace) }
    }

    mutating func note(_ control: SessionControl, from metadata: SessionSyncMetadata) {
        let peerID = metadata.sourcePeerID
        guard engine.hears(peerID) else { return }
        // No event since the last exchange: what the peer has sent was lost, and is not under way.
        let promised = exchange.unacknowledgedCount == 0 && isOpenMember(peerID) ? metadata.promise?.sequence : nil
        let lostThrough = promised.map { $0 > heldSequence(of: peerID) ? $0 : 0 }
        remember(peerID) { [now = moment.now] peer in
            peer.at = now
            peer.held = control.held
            peer.position = control.position
            peer.lostThrough = lostThrough ?? peer.lostThrough
        }
    }
}
