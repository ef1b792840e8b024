// MARK: - The replay

extension ResumeCore {
    /// Handles RESUMED.
    mutating func resume(count: Int, ceiling: UInt64, _ now: Duration) -> Reception {
        guard let connection, case .resuming(let floor) = connection.phase else { return .stale }
        if isContiguous, ceiling < floor {
            invalidate(
                reason: "the server is at event \(ceiling), and this client had \(floor): the stream has started over",
                resumable: false)
            return .live
        }
        self.connection?.ceiling = ceiling
        self.connection?.handshakeDue = nil
        let replay = ResumeReplay(
            expected: max(0, count), ceiling: ceiling, received: connection.replayedEarly.count,
            last: connection.replayedEarly.last, due: now + .bounded(settings.configuration.replayTimeout))
        publish(.replayStarted)
        if isComplete(replay) {
            let isShort = isContiguous && session?.received.floor ?? 0 < ceiling
            session?.received.raise(to: ceiling)
            acknowledgeReceived()
            goLive(now)
            cursorMoved(now)
            if isShort { publish(.replayInterrupted(.incomplete)) }
            publish(.replayFinished(replayedCount: replay.received))
        } else {
            self.connection?.phase = .replaying(replay)
            enter(.replaying(expected: replay.expected, received: replay.received))
            if self.connection?.heartbeatDue == nil { beginHeartbeats(now) }
        }
        return .live
    }

    /// Counts a replayed event. Each sequence counts once, even if the app had the event before.
    mutating func advanceReplay(_ sequence: UInt64, isNew: Bool, _ now: Duration) {
        if case .resuming = connection?.phase, let last = connection?.replayedEarly.last, sequence > last {
            connection?.replayedEarly.count += 1
            connection?.replayedEarly.last = sequence
        }
        guard case .replaying(var replay) = connection?.phase else { return }
        guard sequence <= replay.ceiling else { return }
        guard sequence > replay.last else { return }
        replay.last = max(replay.last, sequence)
        replay.received += 1
        replay.due = now + .bounded(settings.configuration.replayTimeout)
        connection?.phase = .replaying(replay)
        if isComplete(replay) {
            endReplay(nil, now)
        } else {
            enter(.replaying(expected: replay.expected, received: replay.received))
        }
    }

    /// Returns true if the replay is complete. Reaching the ceiling always completes it. Receiving the announced number
    /// of events completes it only if sequence numbers may have gaps, or if that number is 0.
    private func isComplete(_ replay: ResumeReplay) -> Bool {
        let isCounted = replay.received >= replay.expected && (!isContiguous || replay.expected == 0)
        return isCounted || session?.received.floor ?? 0 >= replay.ceiling
    }

    mutating func endReplay(_ interruption: ReplayInterruption?, _ now: Duration? = nil) {
        guard let connection, case .replaying(let replay) = connection.phase else { return }
        if let interruption {
            publish(.replayInterrupted(interruption))
        } else {
            session?.received.raise(to: replay.ceiling)
            acknowledgeReceived()
            if let now { cursorMoved(now) }
        }
        publish(.replayFinished(replayedCount: replay.received))
        goLive(now ?? replay.due)
        if isContiguous, let floor = session?.received.floor, floor < replay.ceiling {
            reportGap(from: floor + 1, to: replay.ceiling)
        }
    }
}
