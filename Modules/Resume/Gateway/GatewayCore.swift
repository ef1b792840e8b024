import MeshBase
public import MeshResume

/// The rate at which a gateway admits new clients: a burst, and a number per second. The gateway asks further clients to
/// return, each at a different time within a minute.
///
/// A quarter of the burst is reserved for clients that this process has accepted before. All others share the rest by IP address
/// (IPv6 by its first 64 bits). Refused tokens of one address use at most half of the burst, and then a tenth of the rate.
public struct GatewayAdmission: Hashable, Sendable {
    /// Maximum number of handshakes admitted per second.
    public var perSecond: Double
    /// Maximum number of handshakes admitted in one burst after a pause.
    public var atOnce: Int

    /// Creates a rate: 1,000 handshakes per second and 1,000 in a burst by default.
    public init(perSecond: Double = 1000, atOnce: Int = 1000) {
        self.perSecond = perSecond
        self.atOnce = atOnce
    }

    /// Admits all clients at once.
    public static let unlimited = GatewayAdmission(perSecond: 1e12, atOnce: 1 << 30)
}

/// The connections of one gateway process as a value without I/O or clock. Input from sockets, the app and the buffer goes in,
/// each with the time since a common start. Frames and directives for each connection come out.
///
/// Each call names its connection by a key. The driver generates a new key for each connection and never reuses one,
/// because a late answer for a reused key could count for another user. A call with an unknown key does nothing. A
/// session has one connection, the newest. A user may have any number of sessions. A call costs O(1). A notice costs
/// O(connections of its user), and its frame is encoded once per encoding. `tick` costs O(connections that are due now
/// or within a second).
public struct GatewayCore: Sendable {
    private let settings: SharedSettings
    private var admission: AdmissionLimit
    private var random: SplitMix64
    private var connections: [Int: GatewayConnection] = [:]
    private var sessions: [GatewaySessionID: Int] = [:]
    /// The connections of each stream, in the order in which they attached.
    private var audience: [String: [Int]] = [:]
    /// The connections that wait for the range of each stream.
    private var awaited: [String: Set<Int>] = [:]
    private var disconnected: DisconnectedUsers
    /// The addresses of connections whose token isn't accepted yet.
    private var addresses: [Int: String] = [:]
    private var dueTimes = DueTimes()
    private var directives: [(key: Int, directive: GatewayDirective)] = []

    /// Creates a gateway without connections. All its random numbers follow from `seed`.
    public init(_ settings: GatewaySettings = .init(), admission: GatewayAdmission = .init(), seed: UInt64) {
        self.settings = SharedSettings(settings)
        self.admission = AdmissionLimit(admission)
        disconnected = DisconnectedUsers(lifetime: settings.tokenLifetimeMax)
        random = SplitMix64(seed: seed)
    }

    /// The number of open connections.
    public var connectionCount: Int { connections.count }
    /// The number of bytes that wait for sockets. O(connections).
    public var unsentBytes: Int { connections.values.reduce(0) { $0 + $1.unsentBytes } }

    /// Returns the instructions since the last call, in order.
    public mutating func takeDirectives() -> [(key: Int, directive: GatewayDirective)] {
        defer { directives = [] }
        return directives
    }

    // MARK: Sockets

    /// Adds a connection under a new key.
    ///
    /// - Parameters:
    ///   - encoding: the encoding of both directions, as agreed with the client.
    ///   - address: the client's IP address, by which admission is shared; nil if it is unknown or doesn't matter.
    public mutating func open(
        _ key: Int, as encoding: FrameEncoding = .json, from address: String? = nil, _ now: Duration
    ) {
        remove(key)
        addresses[key] = address.map { ClientAddress.share(of: $0) }
        connections[key] = GatewayConnection(settings, encoding, seed: random.next(), now)
        with(key, now) { _ in }
    }

    /// Handles a frame from a client.
    public mutating func receive(_ bytes: some Collection<UInt8>, on key: Int, _ now: Duration) {
        with(key, now) { $0.receive(bytes, now) }
    }

    /// Reports that the socket has taken that many bytes.
    public mutating func flushed(_ count: Int, on key: Int, _ now: Duration) {
        // Usually there is nothing to send next, and the connection can stay in the dictionary.
        guard connections[key]?.takesFlush(count) != true else { return }
        with(key, now) { $0.flushed(count, now) }
    }

    /// Removes a connection whose socket is closed.
    public mutating func remove(_ key: Int) {
        addresses[key] = nil
        guard let connection = connections.removeValue(forKey: key) else { return }
        detach(key, connection.session, connection.stream)
        move(key, from: connection.awaitedStream, to: nil)
    }

    /// Handles the timeouts that are due. Call it about once a second.
    public mutating func tick(_ now: Duration) {
        for entry in dueTimes.take(now) where connections[entry.key]?.watchedUntil == entry.due {
            connections[entry.key]?.watchedUntil = nil
            with(entry.key, now) { $0.tick(now) }
        }
    }

    /// Asks every client to reconnect, each at a different time within `spread`.
    public mutating func shutDown(spread: Duration, _ now: Duration) {
        for key in connections.keys.sorted() {
            let wait = spread * random.fraction()
            with(key, now) { $0.shutDown(retryAfter: wait) }
        }
    }

    // MARK: Answers

    /// Reports the result of checking a client's token.
    ///
    /// - Parameters:
    ///   - stream: the user's stream, named by the app; nil if the token isn't accepted.
    ///   - issued: when the token was issued; nil if that isn't known.
    ///   - expires: when the token expires; nil if it doesn't.
    ///   - ready: the app's fields for READY, if a session begins.
    public mutating func authenticated(
        _ stream: String?, issued: Duration? = nil, expires: Duration? = nil, ready: ReadyFields = .none, on key: Int,
        _ now: Duration
    ) {
        guard let connection = connections[key] else { return }
        if let stream, !disconnected.accepts(stream, issued: issued, askedAt: connection.askedAt, now) {
            return with(key, now) { $0.disconnected() }
        }
        resolveAdmission(stream != nil, key, now)
        let lead = settings.settings.tokenRenewalLead
        with(key, now) { connection in
            connection.token = expires.map { TokenLifetime(expiresAt: $0, lead: lead, now) }
            connection.authenticated(stream == DisconnectionLog.stream ? nil : stream, ready, now)
        }
    }

    /// Closes the connections of a user. For `GatewaySettings.tokenLifetimeMax` the gateway refuses tokens issued before this
    /// call, and answers to token checks that began before it.
    ///
    /// - Parameter madeAt: when the app disconnected the user, possibly at another process; `now` by default.
    public mutating func disconnect(_ stream: String, madeAt: Duration? = nil, _ now: Duration) {
        disconnected.add(stream, madeAt: min(madeAt ?? now, now), now)
        for key in connections.keys.sorted() where connections[key]?.user == stream {
            with(key, now) { $0.disconnected() }
        }
    }

    /// Closes all connections in a way that lets clients resume, so that the app is asked about each token again.
    package mutating func authenticateAgain(_ now: Duration) {
        for key in connections.keys.sorted() {
            with(key, now) { $0.failed("the gateway doesn't know which users were disconnected") }
        }
    }

    /// Handles the buffer's answer to `locate`.
    public mutating func located(_ standing: ReplayStanding, on key: Int, _ now: Duration) {
        with(key, now) { $0.located(standing, now) }
    }

    /// Handles the buffer's answer to `read`.
    public mutating func read(_ page: ReplayPage, on key: Int, _ now: Duration) {
        with(key, now) { $0.read(page, now) }
    }

    /// Reports that the app or the buffer can't answer now. The client keeps its cursor and resumes later.
    public mutating func failed(_ reason: String, on key: Int, _ now: Duration) {
        resolveAdmission(nil, key, now)
        with(key, now) { $0.failed(reason) }
    }

    /// Reports that an event was appended to the buffer.
    public mutating func noticed(_ notice: ReplayNotice, _ now: Duration) {
        for key in awaited[notice.stream] ?? [] { connections[key]?.hasEarlyNotice = true }
        guard let keys = audience[notice.stream] else { return }
        var frame = SharedFrame(notice.entry)
        for key in keys {
            // In most cases the notice carries the next event. Sending it changes neither session nor deadline.
            if let bytes = connections[key]?.next(notice, &frame, now) {
                directives.append((key, .send(bytes)))
            } else {
                with(key, now) { $0.noticed(notice, &frame, now) }
            }
        }
    }
}

extension GatewayCore {
    private mutating func resolveAdmission(_ isAccepted: Bool?, _ key: Int, _ now: Duration) {
        guard case .authenticating(let frame) = connections[key]?.phase, let token = frame.token else { return }
        admission.resolve(isAccepted, token: token, from: addresses[key], now)
        if isAccepted == true { addresses[key] = nil }
    }

    private mutating func with(_ key: Int, _ now: Duration, _ body: (inout GatewayConnection) -> Void) {
        // The connection is taken out of the dictionary while it changes, which avoids copying its contents.
        guard var connection = connections.removeValue(forKey: key) else { return }
        let (session, stream, awaited) = (connection.session, connection.stream, connection.awaitedStream)
        body(&connection)
        if case .admitting(let frame) = connection.phase {
            if let wait = admission.take(token: frame.token ?? "", from: addresses[key], now) {
                connection.postponed(wait)
            } else {
                connection.admitted(now)
            }
        }
        for directive in connection.takeDirectives() { directives.append((key, directive)) }
        watch(&connection, key)
        let (next, isClosed) = (connection.session, connection.isClosed)
        move(key, from: awaited, to: connection.awaitedStream)
        if session != next { detach(key, session, stream) }
        if isClosed { addresses[key] = nil } else { connections[key] = connection }
        if let next, session != next { attach(key, next, connection.stream, now) }
    }

    /// Schedules a check unless an earlier one is scheduled. A later check is scheduled when the earlier one runs.
    private mutating func watch(_ connection: inout GatewayConnection, _ key: Int) {
        guard let due = connection.deadline, connection.watchedUntil.map({ due < $0 }) ?? true else { return }
        connection.watchedUntil = due
        dueTimes.enter(DueTimes.Entry(key: key, due: due))
    }

    private mutating func attach(_ key: Int, _ session: GatewaySessionID, _ stream: String?, _ now: Duration) {
        if let older = sessions[session], older != key { with(older, now) { $0.replaced() } }
        sessions[session] = key
        if let stream { audience[stream, default: []].append(key) }
    }

    /// Notes the stream whose range a connection waits for.
    private mutating func move(_ key: Int, from former: String?, to stream: String?) {
        guard former != stream else { return }
        if let stream { awaited[stream, default: []].insert(key) }
        guard let former else { return }
        awaited[former]?.remove(key)
        if awaited[former]?.isEmpty == true { awaited[former] = nil }
    }

    private mutating func detach(_ key: Int, _ session: GatewaySessionID?, _ stream: String?) {
        if let session, sessions[session] == key { sessions[session] = nil }
        guard let stream else { return }
        audience[stream]?.removeAll { $0 == key }
        if audience[stream]?.isEmpty == true { audience[stream] = nil }
    }
}

extension ClientFrame {
    fileprivate var token: String? {
        switch self {
        case .identify(let token, _), .resume(let token, _, _): token
        case .heartbeat: nil
        }
    }
}
