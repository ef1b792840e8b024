import MeshBase

// MARK: - The cursor and its store

extension ResumeCore {
    /// Where the next resume begins; nil where the next connection identifies.
    var snapshot: SessionSnapshot? {
        session.map { SessionSnapshot(sessionId: $0.id, lastSeq: $0.acknowledged) }
    }

    /// The app needs nothing up to here any more. What it has not been given in order does not count.
    package mutating func acknowledge(through sequence: UInt64, _ now: Duration) {
        guard let session, isAcknowledgedByApp else { return }
        self.session?.acknowledged = max(session.acknowledged, min(sequence, session.received.floor))
        cursorMoved(now)
    }

    /// Ends the connection. Events that the app hasn't acknowledged count as never received, so the next one brings them again.
    package mutating func retryUnacknowledged() {
        if let session { self.session?.received = ReceivedSequences(floor: session.acknowledged) }
        close()
    }

    mutating func acknowledgeReceived() {
        guard let session, !isAcknowledgedByApp else { return }
        self.session?.acknowledged = session.received.floor
    }

    /// Written with the moves of the next moments.
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

    /// Time has come for a write. A store that takes longer than that gets no other one meanwhile.
    mutating func writeDueMoves(_ now: Duration) {
        if writesUnderWay == 0 { writeNow() } else { writeDue = now + max(settings.writeDelay, .milliseconds(250)) }
    }

    package mutating func wrote(_ failure: ResumeError?, _ now: Duration) {
        writesUnderWay -= 1
        guard let failure else { return writeBackoff.reset() }
        written = nil
        writeDue = now + writeBackoff.next()
        tell(.storageFailed(failure.description))
    }
}
