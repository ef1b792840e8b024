/// What the coordinator sends through: the app's socket. Its implementer puts requests into frames and tells the
/// coordinator what arrives.
///
/// The coordinator keeps its transport alive; a transport that keeps its coordinator does so weakly. Either call may
/// suspend, and may never return on a dead socket: the coordinator waits for no heartbeat before the next one.
public protocol SessionTransport: AnyObject, Sendable {
    func sendHandshake(_ request: HandshakeRequest) async throws
    func sendHeartbeat(_ request: HeartbeatRequest) async throws
}

/// The first thing that a client says on a connection.
public struct HandshakeRequest: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// Begins a session.
        case identify(ClientProperties)
        /// Asks for every event of a session after `lastSeq`.
        case resume(sessionId: String, lastSeq: UInt64)
    }

    public let kind: Kind
    /// What the app's token closure returned for this connection.
    public let token: String

    public init(kind: Kind, token: String) {
        self.kind = kind
        self.token = token
    }
}

/// A sign of life, with the last event that the client needs no more.
public struct HeartbeatRequest: Hashable, Sendable {
    public let lastSeq: UInt64

    public init(lastSeq: UInt64) { self.lastSeq = lastSeq }
}
