import MeshBase

// MARK: - The cursor and its store

extension ResumeCore {
    /// The session and cursor for the next resume; nil if the next connection must identify.
    var snapshot: SessionSnapshot? {
        session.map { SessionSnapshot(sessionId: $0.id, lastSeq: $0.acknowledged) }
    }

    /// Acknowledges events up to a sequence, but none beyond the floor. Ignores a sequence above all received events: the
    /// app got it in another session.
    /// - Parameter sessionID: nil for the present session.
    package mutating func acknowledge(through sequence: UInt64, in sessionID: String? = nil, _ now: Duration) {
        guard let session, isAcknowledgedByApp, sequence <= session.received.last,
            sessionID == nil || sessionID == session.id
        else { return }
        self.session?.acknowledged = max(session.acknowledged, min(sequence, session.received.floor))
        cursorMoved(now)
    }

    /// Ends the connection. Unacknowledged events count as never received, so the server sends them again on the next
    /// connection.
    package mutating func retryUnacknowledged() {
        if let session { self.session?.received = ReceivedSequences(floor: session.acknowledged) }
        close()
    }

    mutating func acknowledgeReceived() {
        guard let session, !isAcknowledgedByApp else { return }
        self.session?.acknowledged = session.received.floor
    }

    /// Schedules a write after `writeDelay`. It saves the cursor as it is then, so one write covers several moves.
    mutating func cursorMoved(_ now: Duration) {
        guard written != .some(snapshot) else { return }
        guard settings.writeDelay > .zero else { return writeNow() }
        if writeDue == nil { writeDue = now + settings.writeDelay }
    }

    mutating func writeNow() {
        writeDue = nil
        written = .some(snapshot)
        writesUnderWay += 1
        direct(.write(snapshot))
    }

    /// Writes the cursor if no write is in progress. Otherwise postpones the write, so that a slow store gets one write
    /// at a time.
    mutating func writeDueMoves(_ now: Duration) {
        if writesUnderWay == 0 { writeNow() } else { writeDue = now + max(settings.writeDelay, .milliseconds(250)) }
    }

    package mutating func writeFinished(_ failure: ResumeError?, _ now: Duration) {
        writesUnderWay -= 1
        guard let failure else { return writeBackoff.reset() }
        written = nil
        writeDue = now + writeBackoff.next()
        publish(.storageFailed(failure.description))
    }
}
