import MeshBase
import MeshResume

// MARK: - From the handshake on

extension GatewayConnection {
    mutating func admitted(_ now: Duration) {
        guard case .admitting(let frame) = phase else { return }
        askedAt = now
        phase = .authenticating(frame)
        switch frame {
        case .identify(let token, let properties): direct(.authenticate(token: token, properties))
        case .resume(let token, _, _): direct(.authenticate(token: token, nil))
        case .heartbeat: break
        }
    }

    /// Refuses the handshake because too many clients connect at once.
    mutating func postponed(_ wait: Duration) {
        send(.reconnect(after: wait))
        close(.rateLimited, "too many clients are connecting: try again later")
    }

    mutating func authenticated(_ stream: String?, _ ready: ReadyFields = .none, _ now: Duration) {
        guard case .authenticating(let frame) = phase else { return }
        guard let stream else { return close(.authenticationFailed, "the token isn't accepted") }
        if case .resume(_, let id, _) = frame, GatewaySessionID(id)?.isOf(stream) != true {
            return refuse("this user has no such session", now)
        }
        (phase, hasEarlyNotice) = (.locating(stream: stream, frame, ready), false)
        direct(.locate(stream: stream))
    }

    mutating func located(_ standing: ReplayStanding, _ now: Duration) {
        guard case .locating(let stream, let frame, let ready) = phase else { return }
        if case .resume(_, let text, let last) = frame, let session = GatewaySessionID(text) {
            resume(session, stream, after: last, standing, now)
        } else {
            let session = GatewaySessionID(epoch: standing.epoch, stream: stream, nonce: random.next())
            begin(session, stream, after: standing.newest, standing, now)
            send(.ready(session, newest: standing.newest, ready))
            readOn(now)
        }
    }

    private mutating func begin(
        _ session: GatewaySessionID, _ stream: String, after last: UInt64, _ standing: ReplayStanding, _ now: Duration
    ) {
        var place = StreamPlace(
            stream: stream, sent: ReplayPosition(epoch: standing.epoch, sequence: last), newest: standing.newest,
            reportedAt: now)
        if hasEarlyNotice { place.requireCheck(now) }
        phase = .streaming(GatewayReader(session: session, place: place))
    }

    private mutating func resume(
        _ session: GatewaySessionID, _ stream: String, after last: UInt64, _ standing: ReplayStanding, _ now: Duration
    ) {
        guard session.epoch == standing.epoch else { return refuse("the stream has a new epoch", now) }
        guard last <= standing.newest else { return refuse("the cursor is beyond the stream's newest event", now) }
        let count = standing.newest - last
        guard last >= standing.oldest - 1, count <= UInt64(max(0, settings.replayMax)) else {
            return refuse("too many events were missed", now)
        }
        begin(session, stream, after: last, standing, now)
        send(.resumed(replayed: count, newest: standing.newest))
        readOn(now)
    }

    /// Closes the connection because another one continues the session.
    mutating func replaced() { close(.sessionTimedOut, "another connection continues this session") }

    /// Closes the connection because the app has disconnected the user.
    mutating func disconnected() { close(.disconnected, "the app has disconnected this user") }

    /// Asks the client to reconnect with a new token. The time is random, because many tokens may expire together.
    mutating func renewToken(_ now: Duration, _ token: TokenLifetime) {
        guard !isClosed else { return }
        let isExpired = now >= token.expiresAt
        send(.reconnect(after: isExpired ? .zero : settings.tokenRenewalLead / 2 * random.fraction()))
        close(.tokenExpired, isExpired ? "the token has expired" : "the token expires soon: resume with a new one")
    }

    /// Closes the connection because the gateway shuts down. The client can resume at another gateway.
    mutating func shutDown(retryAfter wait: Duration) {
        guard !isClosed else { return }
        send(.reconnect(after: wait))
        close(.unknownError, "this gateway is shutting down: resume")
    }

    /// Closes the connection because the app or the buffer couldn't answer. The client can resume.
    mutating func failed(_ reason: String) {
        guard !isClosed else { return }
        send(.invalidSession(reason, resumable: true))
        close(.unknownError, "try again later")
    }
}

// MARK: - The stream

extension GatewayConnection {
    /// Handles a notice that carries the next event for a client that is up to date.
    ///
    /// - Returns: the frame to send. In all other cases returns nil, and changes nothing.
    mutating func next(_ notice: ReplayNotice, _ frame: inout SharedFrame, _ now: Duration) -> [UInt8]? {
        guard unsentBytes < settings.unsentBytesMax, stalledSince == nil, case .streaming(var reader) = phase,
            reader.place.takeNext(notice, now)
        else { return nil }
        phase = .streaming(reader)
        let bytes = frame.encoded(as: encoding)
        unsentBytes += bytes.count
        // The socket has just become full, so record the time.
        if unsentBytes >= settings.unsentBytesMax { trackBackpressure(now) }
        return bytes
    }

    /// - Parameter frame: the frame of the notice's entry.
    mutating func noticed(_ notice: ReplayNotice, _ frame: inout SharedFrame, _ now: Duration) {
        guard case .streaming(var reader) = phase, notice.stream == reader.place.stream else { return }
        if reader.place.take(notice, hasRoom: unsentBytes < settings.unsentBytesMax, now) {
            send(frame.encoded(as: encoding))
        }
        phase = .streaming(reader)
        readOn(now)
    }

    mutating func read(_ page: ReplayPage, _ now: Duration) {
        guard case .streaming(var reader) = phase, reader.place.isReading else { return }
        do throws(StreamPlace.Loss) {
            for entry in try reader.place.take(page, now) { send(.event(entry)) }
        } catch {
            return refuse(
                error == .began ? "the stream has a new epoch" : "the next event is no longer kept", now)
        }
        phase = .streaming(reader)
        readOn(now)
    }

    /// Reads the next page, if there is one and the socket has capacity.
    mutating func readOn(_ now: Duration) {
        trackBackpressure(now)
        guard case .streaming(var reader) = phase,
            let position = reader.place.nextPage(hasRoom: unsentBytes < settings.unsentBytesMax)
        else { return }
        phase = .streaming(reader)
        direct(.read(stream: reader.place.stream, after: position, limit: max(1, settings.pageEntries)))
    }
}
