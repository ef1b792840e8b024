import MeshBase

// MARK: - From the open to the handshake

extension ResumeCore {
    package mutating func open() {
        endConnection(.connectionClosed)
        connectionCount += 1
        connection = ResumeConnection(number: connectionCount)
        if ignoresStoredSession {
            askToken()
        } else {
            direct(.load(connection: connectionCount))
        }
    }

    /// Adopts the stored session if there is none in memory, or if another writer has replaced it in the store.
    /// Otherwise the session in memory is at least as new.
    package mutating func loaded(_ result: Result<SessionSnapshot?, ResumeError>, connection number: UInt64) {
        guard isCurrent(number), case .loading = connection?.phase else { return }
        switch result {
        case .success(let stored):
            let isNews = stored?.sessionId != session?.id && (session == nil || written == .some(snapshot))
            if isNews {
                session = stored.map { ResumeSession(id: $0.sessionId, floor: $0.lastSeq) }
                written = .some(stored)
            }
        case .failure(let error):
            if session == nil { freshStart = .storageFailed }
            publish(.storageFailed(error.description))
        }
        askToken()
    }

    private mutating func askToken() {
        guard let connection else { return }
        self.connection?.phase = .awaitingToken
        direct(.askToken(connection: connection.number))
    }

    package mutating func tokenReturned(_ token: String?, connection number: UInt64, _ now: Duration) {
        guard isCurrent(number), let connection, connection.awaitsToken else { return }
        guard let token else {
            self.connection = nil
            enter(.disconnected)
            publish(.tokenUnavailable)
            return
        }
        let kind: HandshakeRequest.Kind
        if let snapshot, let session {
            kind = .resume(sessionId: snapshot.sessionId, lastSeq: snapshot.lastSeq)
            self.connection?.phase = .resuming(floor: session.received.floor)
            self.connection?.replayedEarly.last = snapshot.lastSeq
        } else {
            kind = .identify(settings.properties)
            self.connection?.phase = .identifying
            publish(.startedFresh(freshStart))
        }
        enter(.handshaking)
        self.connection?.handshakeDue = now + .bounded(settings.configuration.handshakeTimeout)
        beginHeartbeats(now)
        direct(.sendHandshake(HandshakeRequest(kind: kind, token: token), connection: connection.number))
    }

    package mutating func handshakeReturned(_ failure: String?, connection number: UInt64) {
        guard let failure, isCurrent(number) else { return }
        fail(.handshakeFailed(failure))
    }

    private func isCurrent(_ number: UInt64) -> Bool { connection?.number == number }
}

// MARK: - Ends

extension ResumeCore {
    package mutating func close() {
        endConnection(.connectionClosed)
        if writeDue != nil { writeNow() }
    }

    /// Ends the session, for a logout. Pending results belong to the user who logged out, so they are ignored.
    mutating func clear() {
        endConnection(.cleared)
        forget(.cleared)
        publish(.sessionCleared)
    }

    mutating func invalidate(reason: String?, resumable: Bool) {
        endConnection(.invalidated)
        if resumable {
            if writeDue != nil { writeNow() }
        } else {
            forget(.rejected)
        }
        publish(.sessionInvalidated(reason: reason, resumable: resumable))
    }

    private mutating func forget(_ reason: FreshStart) {
        session = nil
        ignoresStoredSession = true
        freshStart = reason
        writeNow()
    }

    /// Ends a connection that is dead or was never established.
    mutating func fail(_ reason: ReconnectReason) {
        endConnection(.connectionClosed)
        if writeDue != nil { writeNow() }
        publish(.reconnectNeeded(reason))
    }

    private mutating func endConnection(_ interruption: ReplayInterruption) {
        if case .replaying(let replay) = connection?.phase {
            publish(.replayInterrupted(interruption))
            publish(.replayFinished(replayedCount: replay.received))
        }
        connection = nil
        enter(.disconnected)
    }
}
