import MeshBase

// MARK: - Time

extension ResumeCore {
    /// The next time at which `tick` has work; nil if there is none.
    package var deadline: Duration? {
        var times = [writeDue, connection?.heartbeatDue, connection?.handshakeDue]
        if case .replaying(let replay) = connection?.phase { times.append(replay.due) }
        return times.compactMap(\.self).min()
    }

    /// Runs all due work.
    package mutating func tick(_ now: Duration) {
        if let due = writeDue, due <= now { writeDueMoves(now) }
        if let due = connection?.handshakeDue, due <= now { fail(.handshakeTimedOut) }
        if case .replaying(let replay) = connection?.phase, replay.due <= now {
            endReplay(.timedOut)
        }
        if let due = connection?.heartbeatDue, due <= now { beat(now) }
    }

    // MARK: Heartbeats

    /// Starts heartbeats with the handshake, because a replay may take longer than the server waits for a heartbeat.
    mutating func beginHeartbeats(_ now: Duration) {
        guard settings.configuration.autoHeartbeat, connection != nil else { return }
        let share = hasNoJitter ? 1 : random.fraction()
        connection?.heartbeatDue = now + heartbeatInterval * share
    }

    private var hasNoJitter: Bool { settings.configuration.heartbeatJitter == 0 }

    private mutating func beat(_ now: Duration) {
        guard let connection else { return }
        let limit = max(1, settings.configuration.missedAckLimit)
        if connection.unacknowledgedBeats >= limit {
            return fail(.zombie(missedAcks: connection.unacknowledgedBeats))
        }
        let jitter = min(max(settings.configuration.heartbeatJitter, 0), 1)
        let early = hasNoJitter ? 0 : jitter * random.fraction()
        self.connection?.heartbeatDue = now + heartbeatInterval * (1 - early)
        self.connection?.unacknowledgedBeats += 1
        direct(.sendHeartbeat(HeartbeatRequest(lastSeq: snapshot?.lastSeq ?? 0), connection: connection.number))
    }

    mutating func heartbeatReturned(_ failure: String?, connection number: UInt64) {
        guard let failure, connection?.number == number, connection?.hasReportedHeartbeatFailure == false else {
            return
        }
        connection?.hasReportedHeartbeatFailure = true
        publish(.reconnectNeeded(.heartbeatFailed(failure)))
    }

    mutating func receiveHello(_ interval: Double, _ now: Duration) -> Reception {
        guard interval > 0, interval.isFinite else { return connection == nil ? .stale : .live }
        heartbeatInterval = .bounded(interval)
        if connection?.heartbeatDue != nil { beginHeartbeats(now) }
        return connection == nil ? .stale : .live
    }
}
