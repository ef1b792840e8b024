import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshTransport

/// Events and controls of peers.
extension SessionCore {
    /// All of it in one turn: the state is shown once, and one round does what follows.
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

    /// Those that aren't of this session.
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
        if engine.isBehind { return stayBehind() }
        behindSince = nil
        if !applied.isEmpty { directives.showsState = true }
        tellAdopted()
        tellArrivals(atMost: Self.arrivalsAtOnce)
    }

    /// The rest of it is reduced in later turns.
    private mutating func stayBehind() {
        let since = behindSince ?? moment.now
        behindSince = since
        // A member that goes on sending what comes late must not keep the screen as it is.
        if abs(moment.now.timeIntervalSince(since)) > Self.behindMax { return catchUp() }
        // While a peer's events go on coming, what is reduced between them may have to be reduced again.
        directives.catchUpIn = engine.missing.isEmpty && !isLagging ? .zero : Self.gatheringTime
    }

    private static var gatheringTime: Duration { .milliseconds(50) }
    /// Seconds.
    private static var behindMax: TimeInterval { 5 }

    /// As many as a reader's buffer takes, and the others in later turns.
    mutating func tellArrivals(atMost count: Int) {
        if directives.remoteEvents.isEmpty, arrivals.count <= count {
            directives.remoteEvents = arrivals
            arrivals = []
        } else {
            directives.remoteEvents += arrivals.prefix(count)
            arrivals.removeFirst(min(count, arrivals.count))
        }
        if !arrivals.isEmpty { directives.catchUpIn = .zero }
    }

    /// Half of what a reader of remote events may leave unread.
    private static var arrivalsAtOnce: Int { 512 }

    /// Whether `catchUp` has something to do.
    var isCatchingUp: Bool { engine.isBehind || !arrivals.isEmpty }

    /// Goes on with what came late: reduces at most that many events, and shows what has come of it at the end.
    mutating func catchUp(atMost count: Int = .max) {
        guard engine.isBehind else { return tellArrivals(atMost: Self.arrivalsAtOnce) }
        engine.catchUp(atMost: count)
        announceApplied()
        guard !engine.isBehind else { return }
        directives.showsState = true
        wake()
    }

    // MARK: - Events

    private mutating func receive(events: ArraySlice<AnySessionSyncEnvelope>) {
        let taken = hotPath.receive(&engine, events) { [checkpoints] erased, engine in
            // A kind of event that this version does not know is kept unread.
            let payload = try erased.encodedPayload(with: checkpoints.codec)
            let number = payload.codec.id.number
            return TakenEvent(try engine.receiveOpaque(erased.metadata, bytes: payload.bytes, codec: number))
        }
        for (place, taken) in zip(events.indices, taken) { note(taken, of: events[place].metadata) }
        announceApplied()
    }

    private mutating func note(_ taken: TakenEvent, of metadata: SessionSyncMetadata) {
        if case .refused(let error) = taken { return reject(metadata, error) }
        exchange.unacknowledgedCount += 1
        switch taken {
        case .applied, .refused: break
        case .duplicate: statistics.duplicates += 1
        case .ignored: statistics.ignored += 1
        case .unread:
            statistics.ignored += 1
            statistics.unread += 1
        case .early:
            statistics.gaps += 1
            // A member's engine sends the missing range; anybody else has nothing but snapshots.
            if !engine.isSealed || !isOpenMember(metadata.sourcePeerID) { requestSnapshot() }
        }
    }

    // MARK: - What is no event

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
            case SessionControl.payloadType: try takeControl(erased)
            case ShortForm.controlType: try takeShortControl(erased)
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
            case SessionRelay<Event>.payloadType: try takeRelay(erased)
            default: try receiveCopyMessage(erased)
            }
        } catch {
            reject(erased.metadata, error)
        }
    }

    private mutating func takeControl(_ erased: AnySessionSyncEnvelope) throws {
        try take(
            SessionSyncEnvelope(metadata: erased.metadata, payload: try erased.decodePayload(as: SessionControl.self)))
    }

    private mutating func takeShortControl(_ erased: AnySessionSyncEnvelope) throws {
        var metadata = erased.metadata
        let payload = try erased.decodePayload(as: ShortForm.self).control(of: metadata.sender)
        metadata.payloadType = SessionControl.payloadType
        try take(SessionSyncEnvelope(metadata: metadata, payload: payload))
    }

    private mutating func take(_ envelope: SessionSyncEnvelope<SessionControl>) throws {
        guard envelope.metadata.sourcePeerID != engine.localPeerID else { return }
        let isNew = heard[envelope.metadata.sourcePeerID] == nil
        regard(envelope.metadata.sourcePeerID)
        try engine.receiveControl(envelope, at: moment.now)
        if let statement = envelope.payload.view {
            let metadata = envelope.metadata
            company.hear(
                statement, of: SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation))
        }
        statistics.controlsReceived += 1
        noteStranger(envelope.metadata.sourcePeerID)
        note(envelope.payload, from: envelope.metadata)
        announceApplied()
        guard !isNew else {
            sendAllEphemerals()
            return exchangeNow()
        }
        scheduleExchange(exchangePace)
        answer(envelope.payload, of: envelope.metadata.sourcePeerID)
    }

    private mutating func takeRelay(_ erased: AnySessionSyncEnvelope) throws {
        let envelope = SessionSyncEnvelope(
            metadata: erased.metadata, payload: try erased.decodePayload(as: SessionRelay<Event>.self))
        try engine.receiveRelay(envelope, at: moment.now)
        exchange.unacknowledgedCount += envelope.payload.records.count
        announceApplied()
    }

    /// Groups of one session find each other, and newcomers theirs, by controls: beside a peer that isn't a member a session goes on
    /// speaking.
    private mutating func noteStranger(_ peerID: String) {
        if isOpenMember(peerID) {
            strangers.remove(peerID)
        } else if strangers.count < HeardPeer.countMax {
            strangers.insert(peerID)
        }
    }

    mutating func note(_ control: SessionControl, from metadata: SessionSyncMetadata) {
        let peerID = metadata.sourcePeerID
        guard engine.hears(peerID) else { return }
        // No event since the last exchange: what the peer has sent was lost, and is not under way.
        let promised = exchange.unacknowledgedCount == 0 && isOpenMember(peerID) ? metadata.promise?.sequence : nil
        let lostThrough = promised.map { $0 > heldSequence(of: peerID) ? $0 : 0 }
        // It may have lost what it held.
        if let known = heard[peerID]?.incarnation, known != metadata.incarnation { series.greet(peerID) }
        let longest = ExchangeSchedule.Pace.settled.interval(configuration.exchangeInterval).seconds
        remember(peerID) { [now = moment.now, silenceMax = silenceMax(of: peerID)] peer in
            if abs(now.timeIntervalSince(peer.at)) > silenceMax { peer.since = now }
            peer.at = now
            peer.silence = control.silence.map { min(Double($0) / 1_000, longest) }
            peer.readsShortForms = (control.reads ?? 0) & 1 == 1
            peer.incarnation = metadata.incarnation
            peer.hear(control.held)
            peer.position = control.position
            peer.lostThrough = lostThrough ?? peer.lostThrough
        }
    }
}

extension TakenEvent {
    /// Of an event that was not read.
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
