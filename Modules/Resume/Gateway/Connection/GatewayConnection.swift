import MeshBase
import MeshResume

/// One connection of a gateway as a value: frames, answers and times go in; frames and directives come out.
///
/// It reads its user's stream only as fast as the socket takes it. If a notice carries the next event, the connection
/// sends that; otherwise it reads the buffer. So no event is skipped or repeated, and the frames that wait for a slow
/// client are bounded by `unsentBytesMax` and one page.
struct GatewayConnection: Sendable {
    enum Phase: Sendable {
        case awaitingHandshake
        // Indirect, because these cases are short-lived and would enlarge every streaming connection.
        indirect case admitting(ClientFrame)
        indirect case authenticating(ClientFrame)
        indirect case locating(stream: String, ClientFrame, ReadyFields)
        case streaming(GatewayReader)
        case closed
    }

    private let shared: SharedSettings
    let encoding: FrameEncoding
    var random: SplitMix64
    var phase = Phase.awaitingHandshake
    private(set) var directives: [GatewayDirective] = []
    private var identifyDue: Duration
    private var lastReceivedAt: Duration
    private var frames: TokenBucket
    var unsentBytes = 0
    private(set) var stalledSince: Duration?
    /// The time at which the app was last asked about a token.
    var askedAt = Duration.zero
    /// The lifetime of the token; nil if it doesn't expire.
    var token: TokenLifetime?
    /// The time at which the core checks this connection next.
    var watchedUntil: Duration?
    /// True if a notice of the stream has come while the buffer was asked for the stream's range. The answer may be older.
    var hasEarlyNotice = false

    init(_ shared: SharedSettings, _ encoding: FrameEncoding = .json, seed: UInt64, _ now: Duration) {
        (self.shared, self.encoding) = (shared, encoding)
        let settings = shared.settings
        random = SplitMix64(seed: seed)
        identifyDue = now + settings.identifyTimeout
        lastReceivedAt = now
        frames = TokenBucket(
            perSecond: Double(settings.framesPerMinute) / 60, atOnce: max(1, settings.framesAtOnce))
        send(.hello(settings.heartbeatInterval))
    }

    var settings: GatewaySettings { shared.settings }

    mutating func takeDirectives() -> [GatewayDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: GatewayDirective) { directives.append(directive) }

    mutating func send(_ frame: GatewayFrame) { send(frame.encoded(as: encoding)) }

    mutating func send(_ bytes: [UInt8]) {
        unsentBytes += bytes.count
        direct(.send(bytes))
    }

    mutating func close(_ code: CloseCode, _ reason: String) {
        if case .closed = phase { return }
        phase = .closed
        direct(.close(code, reason: reason))
    }

    /// Refuses a resume. The client may identify on the same connection.
    mutating func refuse(_ reason: String, _ now: Duration) {
        send(.invalidSession(reason, resumable: false))
        phase = .awaitingHandshake
        identifyDue = now + settings.identifyTimeout
    }

    var session: GatewaySessionID? {
        if case .streaming(let reader) = phase { reader.session } else { nil }
    }
    var stream: String? {
        if case .streaming(let reader) = phase { reader.place.stream } else { nil }
    }
    /// The stream whose range the buffer is being asked for.
    var awaitedStream: String? {
        if case .locating(let stream, _, _) = phase { stream } else { nil }
    }
    /// The stream of the user, once the app has accepted the token.
    var user: String? {
        switch phase {
        case .locating(let stream, _, _): stream
        case .streaming(let reader): reader.place.stream
        case .awaitingHandshake, .admitting, .authenticating, .closed: nil
        }
    }
    var isClosed: Bool { if case .closed = phase { true } else { false } }
}

/// A class, so that connections share one copy of the settings.
final class SharedSettings: Sendable {
    let settings: GatewaySettings

    init(_ settings: GatewaySettings) { self.settings = settings }
}

/// A client's session, and its position in its user's stream.
struct GatewayReader: Hashable, Sendable {
    let session: GatewaySessionID
    var place: StreamPlace
}

// MARK: - Frames and time

extension GatewayConnection {
    mutating func receive(_ bytes: some Collection<UInt8>, _ now: Duration) {
        guard !isClosed else { return }
        guard bytes.count <= settings.frameBytesMax else {
            return close(.decodeError, "a frame has at most \(settings.frameBytesMax) bytes")
        }
        guard frames.take(now) else {
            return close(.rateLimited, "at most \(settings.framesPerMinute) frames a minute")
        }
        do throws(FrameError) {
            let frame = try ClientFrame(bytes, as: encoding)
            lastReceivedAt = now
            switch frame {
            case .heartbeat: send(.heartbeatAck)
            case .identify, .resume:
                guard case .awaitingHandshake = phase else {
                    return close(.alreadyAuthenticated, "this connection already has a session")
                }
                phase = .admitting(frame)
            }
        } catch {
            close(error.closeCode, error.message)
        }
    }

    mutating func tick(_ now: Duration) {
        switch phase {
        case .closed: return
        case .awaitingHandshake where identifyDue <= now:
            close(.notAuthenticated, "the client didn't identify or resume in time")
        default: break
        }
        if let token, token.due <= now { renewToken(now, token) }
        if now - lastReceivedAt >= settings.heartbeatInterval * 2 { close(.unknownError, "no heartbeat: resume") }
        if let since = stalledSince, now - since >= settings.stallTimeout {
            close(.unknownError, "this client reads too slowly: resume")
        }
        catchUp(now)
    }

    /// Asks the buffer for new events. If a notice was dropped, its event would otherwise wait for the user's next one.
    private mutating func catchUp(_ now: Duration) {
        guard case .streaming(var reader) = phase, now - reader.place.reportedAt >= settings.catchUpInterval else {
            return
        }
        reader.place.requireCheck(now)
        phase = .streaming(reader)
        readOn(now)
    }

    /// The next time at which `tick` has something to do, if no input arrives earlier.
    var deadline: Duration? {
        guard !isClosed else { return nil }
        var due = lastReceivedAt + settings.heartbeatInterval * 2
        switch phase {
        case .awaitingHandshake: due = min(due, identifyDue)
        case .streaming(let reader): due = min(due, reader.place.reportedAt + settings.catchUpInterval)
        default: break
        }
        if let token { due = min(due, token.due) }
        if let stalledSince { due = min(due, stalledSince + settings.stallTimeout) }
        return due
    }

    /// Records that the socket has sent bytes, if the client is up to date. Otherwise returns false, and changes
    /// nothing.
    mutating func takesFlush(_ count: Int) -> Bool {
        guard stalledSince == nil, case .streaming(let reader) = phase, reader.place.isUpToDate else { return false }
        unsentBytes = max(0, unsentBytes - count)
        return true
    }

    mutating func flushed(_ count: Int, _ now: Duration) {
        unsentBytes = max(0, unsentBytes - count)
        readOn(now)
    }

    /// Records when the socket stopped taking bytes.
    mutating func trackBackpressure(_ now: Duration) {
        let isFull = unsentBytes >= settings.unsentBytesMax
        stalledSince = isFull ? stalledSince ?? now : nil
    }
}
