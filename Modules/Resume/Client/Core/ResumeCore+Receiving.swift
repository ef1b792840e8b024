// MARK: - What the server says

extension ResumeCore {
    package mutating func receive(_ event: IncomingEvent, _ now: Duration) -> Reception {
        if case .hello(let interval) = event { return greet(interval, now) }
        guard let connection else { return .stale }
        switch event {
        case .ready(let id, let sequence): return begin(id, at: sequence, now)
        case .resumed(let count, let sequence): return resume(count: count, ceiling: sequence, now)
        case .invalidSession(let reason, let resumable): invalidate(reason: reason, resumable: resumable)
        case .heartbeatAck: self.connection?.unacknowledgedBeats = 0
        case .reconnect: tell(.reconnectNeeded(.serverAsked))
        case .hello: break
        case .pushEvent(let sequence):
            switch connection.phase {
            case .loading, .awaitingToken: return .stale
            case .identifying: return takeEarly(sequence)
            case .resuming, .replaying, .live: return take(sequence, now)
            }
        }
        return .live
    }

    /// Ready.
    private mutating func begin(_ id: String, at sequence: UInt64, _ now: Duration) -> Reception {
        switch connection?.phase {
        case .identifying: break
        // It has not resumed: what was missed will not come.
        case .resuming: tell(.startedFresh(.rejected))
        default: return .stale
        }
        guard id.utf8.count <= Self.sessionIDBytesMax else {
            invalidate(reason: "the session's id has more than \(Self.sessionIDBytesMax) bytes", resumable: false)
            return .live
        }
        var begun = ResumeSession(id: id, floor: sequence)
        if let early = connection?.early {
            for range in early.ahead where range.upperBound > sequence {
                _ = begun.received.insert(max(range.lowerBound, sequence + 1)...range.upperBound)
            }
            if early.floor > sequence { begun.received.raise(to: early.floor) }
        }
        if !isContiguous { begun.received.raise(to: begun.received.last) }
        session = begun
        storedIsVoid = false
        freshStart = .noSession
        acknowledgeReceived()
        writeNow()
        goLive(now)
        if let first = begun.received.ahead.first {
            tellGap(from: begun.received.floor + 1, to: first.lowerBound - 1)
        }
        return .live
    }

    /// An event that has overtaken Ready. Its number is compared with the session's when that is known.
    private mutating func takeEarly(_ sequence: UInt64) -> Reception {
        guard let early = connection?.early else { return .stale }
        if early.contains(sequence) { return .duplicate }
        if connection?.early.insert(sequence...sequence) == true { return .live }
        guard !isContiguous else { return .gap }
        connection?.early.raise(to: sequence)
        return .live
    }

    mutating func goLive(_ now: Duration) {
        guard let session else { return }
        connection?.phase = .live
        connection?.handshakeDue = nil
        enter(.live(sessionId: session.id))
        if connection?.heartbeatDue == nil { beginHeartbeats(now) }
    }

    /// An event of a session that is known.
    private mutating func take(_ sequence: UInt64, _ now: Duration) -> Reception {
        guard let session else { return .stale }
        guard !session.received.contains(sequence) else {
            advanceReplay(sequence, isNew: false, now)
            return .duplicate
        }
        guard let reception = isContiguous ? takeNext(sequence) : takeGrowing(sequence) else {
            tellGap(from: session.received.floor + 1, to: sequence - 1)
            return .gap
        }
        acknowledgeReceived()
        cursorMoved(now)
        if reception == .replayed { advanceReplay(sequence, isNew: true, now) }
        return reception
    }

    private mutating func takeGrowing(_ sequence: UInt64) -> Reception? {
        if let ceiling = openCeiling, sequence > ceiling {
            // Whatever of the replay is still to come is not older than this for the cursor.
            if session?.received.insert((ceiling + 1)...sequence) == true { return .live }
        }
        let reception = receptionInOrder(sequence)
        session?.received.raise(to: sequence)
        return reception
    }

    /// nil where others before it are missing: what the app is given is in order, also while a replay is under way.
    private mutating func takeNext(_ sequence: UInt64) -> Reception? {
        guard let floor = session?.received.floor, sequence - floor == 1 else { return nil }
        let reception = receptionInOrder(sequence)
        session?.received.raise(to: sequence)
        return reception
    }

    /// Until Resumed has come everything counts as replayed.
    private func receptionInOrder(_ sequence: UInt64) -> Reception {
        switch connection?.phase {
        case .resuming: .replayed
        default: sequence <= connection?.ceiling ?? 0 ? .replayed : .live
        }
    }

    /// Of a replay under way.
    private var openCeiling: UInt64? {
        guard case .replaying(let replay) = connection?.phase else { return nil }
        return replay.ceiling
    }

    /// Once for a connection: the rest of it is of no more use.
    mutating func tellGap(from first: UInt64, to last: UInt64) {
        guard connection?.hasToldGap == false else { return }
        connection?.hasToldGap = true
        tell(.reconnectNeeded(.gap(first: first, last: last)))
    }
}
