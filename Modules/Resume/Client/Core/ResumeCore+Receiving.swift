// MARK: - Frames from the server

extension ResumeCore {
    package mutating func receive(_ event: IncomingEvent, _ now: Duration) -> Reception {
        if case .hello(let interval) = event { return receiveHello(interval, now) }
        guard let connection else { return .stale }
        switch event {
        case .ready(let id, let sequence): return begin(id, at: sequence, now)
        case .resumed(let count, let sequence): return resume(count: count, ceiling: sequence, now)
        case .invalidSession(let reason, let resumable): invalidate(reason: reason, resumable: resumable)
        case .heartbeatAck: self.connection?.unacknowledgedBeats = 0
        case .reconnect: publish(.reconnectNeeded(.serverAsked))
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

    /// Handles READY.
    private mutating func begin(_ id: String, at sequence: UInt64, _ now: Duration) -> Reception {
        switch connection?.phase {
        case .identifying: break
        // The server started a new session instead of resuming. Missed events won't come.
        case .resuming: publish(.startedFresh(.rejected))
        default: return .stale
        }
        guard id.utf8.count <= Self.sessionIDBytesMax else {
            invalidate(reason: "the session ID has more than \(Self.sessionIDBytesMax) bytes", resumable: false)
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
        ignoresStoredSession = false
        freshStart = .noSession
        acknowledgeReceived()
        writeNow()
        goLive(now)
        if let first = begun.received.ahead.first {
            reportGap(from: begun.received.floor + 1, to: first.lowerBound - 1)
        }
        return .live
    }

    /// Handles an event that arrived before READY. The sequence in READY decides later whether the event is new.
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

    /// Handles an event of a known session.
    private mutating func take(_ sequence: UInt64, _ now: Duration) -> Reception {
        guard let session else { return .stale }
        guard !session.received.contains(sequence) else {
            advanceReplay(sequence, isNew: false, now)
            return .duplicate
        }
        guard let reception = isContiguous ? takeNext(sequence) : takeGrowing(sequence) else {
            reportGap(from: session.received.floor + 1, to: sequence - 1)
            return .gap
        }
        acknowledgeReceived()
        cursorMoved(now)
        if reception == .replayed { advanceReplay(sequence, isNew: true, now) }
        return reception
    }

    private mutating func takeGrowing(_ sequence: UInt64) -> Reception? {
        if let ceiling = openCeiling, sequence > ceiling {
            // An event above the ceiling is live. It must not move the floor past the rest of the replay.
            if session?.received.insert((ceiling + 1)...sequence) == true { return .live }
        }
        let reception = receptionInOrder(sequence)
        session?.received.raise(to: sequence)
        return reception
    }

    /// Returns nil if earlier events are missing: the app gets events in order, also during a replay.
    private mutating func takeNext(_ sequence: UInt64) -> Reception? {
        guard let floor = session?.received.floor, sequence - floor == 1 else { return nil }
        let reception = receptionInOrder(sequence)
        session?.received.raise(to: sequence)
        return reception
    }

    /// Returns the reception of an event in order. Before RESUMED every event counts as replayed.
    private func receptionInOrder(_ sequence: UInt64) -> Reception {
        switch connection?.phase {
        case .resuming: .replayed
        default: sequence <= connection?.ceiling ?? 0 ? .replayed : .live
        }
    }

    /// The ceiling of the current replay; nil if there is none.
    private var openCeiling: UInt64? {
        guard case .replaying(let replay) = connection?.phase else { return nil }
        return replay.ceiling
    }

    /// Reports a gap, at most once per connection, because the client must reconnect anyway.
    mutating func reportGap(from first: UInt64, to last: UInt64) {
        guard connection?.hasReportedGap == false else { return }
        connection?.hasReportedGap = true
        publish(.reconnectNeeded(.gap(first: first, last: last)))
    }
}
