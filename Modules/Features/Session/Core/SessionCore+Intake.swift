import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// Receiving messages from peers: events, controls and the rest.
extension SessionCore {
    /// Receives a batch in one turn, so that the state is shown once and one round handles all results.
    mutating func receive(_ batch: [AnySessionSyncEnvelope]) {
        guard isRunning, batch.contains(where: { isMine($0.metadata) }) else { return }
        let wasProvisional = engine.isProvisional
        let mine = batch.filter { isMine($0.metadata) }
        var rest = mine[...]
        while let first = rest.first {
            let events = rest.prefix {
                $0.metadata.payloadType == engine.payloadType || !Self.isMessage($0.metadata.payloadType)
            }
            if events.isEmpty {
                receiveMessage(first)
                rest = rest.dropFirst()
            } else {
                receive(events: events)
                rest = rest.dropFirst(events.count)
            }
        }
        if engine.isProvisional != wasProvisional { directives.showsState = true }
        if exchange.unacknowledgedCount > 0 { acknowledgeSoon() }
        wake()
    }

    /// Returns the messages of other sessions.
    func envelopesOfOthers(in batch: [AnySessionSyncEnvelope]) -> [AnySessionSyncEnvelope] {
        batch.contains { !isMine($0.metadata) } ? batch.filter { !isMine($0.metadata) } : []
    }

    func isMine(_ metadata: SessionSyncMetadata) -> Bool {
        metadata.featureID == engine.featureID && metadata.sessionID == engine.sessionID
    }

    mutating func reject(_ metadata: SessionSyncMetadata, _ error: any Error) {
        statistics.rejected += 1
        guard case SessionSyncError.outOfRange(let field) = error else { return }
        let peerID = metadata.sourcePeerID
        guard heard[peerID]?.isOutOfRange != true, remember(peerID, { $0.isOutOfRange = true }) else { return }
        raise(.outOfRange(peerID: peerID, field: field))
    }

    /// Changes the remembered facts about a peer, unless too many peers are remembered.
    @discardableResult
    mutating func remember(_ peerID: String, _ change: (inout HeardPeer) -> Void) -> Bool {
        guard heard[peerID] != nil || heard.count < HeardPeer.countMax else { return false }
        change(&heard[peerID, default: HeardPeer(at: moment.now)])
        return true
    }

    /// Publishes the events that the last call to the engine put in their places.
    mutating func announceApplied() {
        let applied = hotPath.takeApplied(&engine, updates.isKept)
        updates.record(applied.events)
        statistics.applied += applied.arrivals.count
        statistics.late += applied.lateCount
        if applied.lateCount > 0 {
            deliveries.forgetUnchanged()
            directives.showsDeliveries = true
        }
        statistics.duplicates += applied.repeatedCount
        statistics.ignored += applied.ignoredCount
        if arrivals.isEmpty { arrivals = applied.arrivals } else { arrivals += applied.arrivals }
        if engine.isBehind { return scheduleCatchUp() }
        behindSince = nil
        if !applied.isEmpty { directives.showsState = true }
        publishAdoptedCopy()
        publishArrivals(atMost: Self.arrivalsAtOnce)
    }

    /// Schedules a later turn that reduces the waiting late events. Reduces them now if the state has been behind too
    /// long.
    private mutating func scheduleCatchUp() {
        let since = behindSince ?? moment.now
        behindSince = since
        // A member that keeps sending late events must not freeze the screen.
        if abs(moment.now.timeIntervalSince(since)) > Self.behindMax { return catchUp() }
        // While more late events are on their way, events reduced now may have to be reduced again.
        directives.catchUpIn = engine.missing.isEmpty && !isLagging ? .zero : Self.gatheringTime
    }

    private static var gatheringTime: Duration { .milliseconds(50) }
    /// Maximum time that the state stays behind, in seconds.
    private static var behindMax: TimeInterval { 5 }

    /// Publishes at most `count` events, so that a reader's buffer holds them. Later turns publish the rest.
    mutating func publishArrivals(atMost count: Int) {
        if directives.remoteEvents.isEmpty, arrivals.count <= count {
            directives.remoteEvents = arrivals
            arrivals = []
        } else {
            directives.remoteEvents += arrivals.prefix(count)
            arrivals.removeFirst(min(count, arrivals.count))
        }
        if !arrivals.isEmpty { directives.catchUpIn = .zero }
    }

    /// Maximum number of events published at once: half of the buffer of `remoteEvents()`.
    private static var arrivalsAtOnce: Int { 512 }

    /// True if `catchUp` has work.
    var isCatchingUp: Bool { engine.isBehind || !arrivals.isEmpty }

    /// Reduces at most `count` late events, and shows the result once all are reduced.
    mutating func catchUp(atMost count: Int = .max) {
        guard engine.isBehind else { return publishArrivals(atMost: Self.arrivalsAtOnce) }
        hotPath.catchUp(&engine, count)
        announceApplied()
        guard !engine.isBehind else { return }
        directives.showsState = true
        wake()
    }

    // MARK: - Events

    private mutating func receive(events: ArraySlice<AnySessionSyncEnvelope>) {
        let results = hotPath.receive(&engine, events) { [checkpoints] erased, engine in
            // This version doesn't know the event's type, so keep the event undecoded.
            let payload = try erased.encodedPayload(with: checkpoints.codec)
            let number = payload.codec.id.number
            return EventResult(try engine.receiveOpaque(erased.metadata, bytes: payload.bytes, codec: number))
        }
        for (index, result) in zip(events.indices, results) { note(result, of: events[index].metadata) }
        announceApplied()
    }

    private mutating func note(_ result: EventResult, of metadata: SessionSyncMetadata) {
        if case .refused(let error) = result { return reject(metadata, error) }
        exchange.unacknowledgedCount += 1
        switch result {
        case .applied, .refused: break
        case .duplicate: statistics.duplicates += 1
        case .ignored: statistics.ignored += 1
        case .unread:
            statistics.ignored += 1
            statistics.unread += 1
        case .early:
            statistics.gaps += 1
            // A member's engine sends the missing range. Another peer has only snapshots.
            if !engine.isSealed || !isOpenMember(metadata.sourcePeerID) { requestSnapshot() }
        }
    }

    // MARK: - Other messages

    private static func isMessage(_ payloadType: String) -> Bool {
        payloadType == SessionControl.payloadType || payloadType == CopyPiece.payloadType
            || payloadType == CopyRequest.payloadType || payloadType == EphemeralMessage.payloadType
            || payloadType == ShortForm.controlType || payloadType == ShortForm.shownType
            || payloadType == SeriesMessage.payloadType || payloadType == ShortForm.seriesType
            || payloadType == SessionRelay<Event>.payloadType
    }

    private mutating func receiveMessage(_ erased: AnySessionSyncEnvelope) {
        do {
            switch erased.metadata.payloadType {
            case SessionControl.payloadType: try receiveControl(erased)
            case ShortForm.controlType: try receiveShortControl(erased)
            case EphemeralMessage.payloadType:
                try receiveEphemerals(erased) { try $0.decodePayload(as: EphemeralMessage.self).samples }
            case ShortForm.shownType:
                try receiveEphemerals(erased) {
                    try $0.decodePayload(as: ShortForm.self).samples(of: $0.metadata.sender, at: $0.metadata.stamp)
                }
            case SeriesMessage.payloadType:
                try receiveSeries(erased) { envelope, _ in try envelope.decodePayload(as: SeriesMessage.self) }
            case ShortForm.seriesType:
                try receiveSeries(erased) { envelope, series in
                    let sender = envelope.metadata.sourcePeerID
                    return try envelope.decodePayload(as: ShortForm.self)
                        .seriesMessage(of: sender) { series.id(of: $0, of: sender) }
                }
            case SessionRelay<Event>.payloadType: try receiveRelay(erased)
            default: try receiveCopyMessage(erased)
            }
        } catch {
            reject(erased.metadata, error)
        }
    }

    private mutating func receiveControl(_ erased: AnySessionSyncEnvelope) throws {
        try receive(
            control: SessionSyncEnvelope(
                metadata: erased.metadata, payload: try erased.decodePayload(as: SessionControl.self)))
    }

    private mutating func receiveShortControl(_ erased: AnySessionSyncEnvelope) throws {
        var metadata = erased.metadata
        let payload = try erased.decodePayload(as: ShortForm.self).control(of: metadata.sender)
        metadata.payloadType = SessionControl.payloadType
        try receive(control: SessionSyncEnvelope(metadata: metadata, payload: payload))
    }

    private mutating func receive(control envelope: SessionSyncEnvelope<SessionControl>) throws {
        guard envelope.metadata.sourcePeerID != engine.localPeerID else { return }
        let isNew = heard[envelope.metadata.sourcePeerID] == nil
        updateOwnership(of: envelope.metadata.sourcePeerID)
        try engine.receiveControl(envelope, at: moment.now)
        if let statement = envelope.payload.view {
            let metadata = envelope.metadata
            membershipLedger.note(
                statement, of: SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation))
        }
        statistics.controlsReceived += 1
        noteIfNonmember(envelope.metadata.sourcePeerID)
        note(envelope.payload, from: envelope.metadata)
        announceApplied()
        guard !isNew else {
            sendAllEphemerals()
            return exchangeNow()
        }
        scheduleExchange(exchangePace)
        answer(envelope.payload, of: envelope.metadata.sourcePeerID)
    }

    private mutating func receiveRelay(_ erased: AnySessionSyncEnvelope) throws {
        let envelope = SessionSyncEnvelope(
            metadata: erased.metadata, payload: try erased.decodePayload(as: SessionRelay<Event>.self))
        try engine.receiveRelay(envelope, at: moment.now)
        exchange.unacknowledgedCount += envelope.payload.records.count
        announceApplied()
    }

    /// Notes peers that aren't members. While one is in reach, this device keeps sending controls, by which a newcomer
    /// finds the group, and two groups of one session find each other.
    private mutating func noteIfNonmember(_ peerID: String) {
        if isOpenMember(peerID) {
            nonmemberPeerIDs.remove(peerID)
        } else if nonmemberPeerIDs.count < HeardPeer.countMax {
            nonmemberPeerIDs.insert(peerID)
        }
    }

    mutating func note(_ control: SessionControl, from metadata: SessionSyncMetadata) {
        let peerID = metadata.sourcePeerID
        guard engine.hears(peerID) else { return }
        // If no event has come since the last exchange, the peer's events up to its promise are lost, not in flight.
        let promised = exchange.unacknowledgedCount == 0 && isOpenMember(peerID) ? metadata.promise?.sequence : nil
        let lostThrough = promised.map { $0 > heldSequence(of: peerID) ? $0 : 0 }
        // A new incarnation may have lost its samples.
        if let known = heard[peerID]?.incarnation, known != metadata.incarnation { series.forgetKnowledge(of: peerID) }
        let longest = ExchangeSchedule.Pace.quiescent.interval(configuration.exchangeInterval).seconds
        remember(peerID) { [now = moment.now, silenceMax = silenceMax(of: peerID)] peer in
            if abs(now.timeIntervalSince(peer.at)) > silenceMax { peer.since = now }
            peer.at = now
            peer.silence = control.silence.map { min(Double($0) / 1_000, longest) }
            peer.readsShortForms = (control.reads ?? 0) & 1 == 1
            peer.incarnation = metadata.incarnation
            peer.setHeld(control.held)
            peer.position = control.position
            peer.lostThrough = lostThrough ?? peer.lostThrough
        }
    }
}

extension EventResult {
    /// Converts the result for an event that was kept unread.
    fileprivate init<State>(_ result: SessionSyncReceiveResult<State>) {
        self =
            switch result {
            case .applied: .applied
            case .duplicate: .duplicate
            case .ignored: .unread
            case .snapshotRequired: .early
            }
    }
}
