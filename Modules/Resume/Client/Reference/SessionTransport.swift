/// The app's socket, through which the coordinator sends. Its implementer puts requests into frames, and passes what
/// arrives to the coordinator.
///
/// The coordinator keeps its transport alive; a transport that keeps its coordinator does so weakly. Either call may
/// suspend, and may never return on a dead socket: the coordinator waits for no heartbeat before the next one.
public protocol SessionTransport: AnyObject, Sendable {
    /// Sends the first frame of a connection.
    ///
    /// - Throws: any error: the coordinator then asks for another connection.
    func sendHandshake(_ request: HandshakeRequest) async throws
    /// Sends a sign of life.
    ///
    /// - Throws: any error: the coordinator then asks for another connection.
    func sendHeartbeat(_ request: HeartbeatRequest) async throws
}

/// The first thing that a client says on a connection.
public struct HandshakeRequest: Hashable, Sendable {
    /// Whether the client begins or goes on.
    public enum Kind: Hashable, Sendable {
        /// Begins a new session.
        case identify(ClientProperties)
        /// Asks for every event of a session after `lastSeq`.
        case resume(sessionId: String, lastSeq: UInt64)
    }

    /// Whether the client begins or goes on.
    public let kind: Kind
    /// The token that the app's closure returned for this connection.
    public let token: String

    /// A request, as the coordinator makes it.
    public init(kind: Kind, token: String) {
        self.kind = kind
        self.token = token
    }
}

/// A sign of life, with the last event that the client needs no more.
public struct HeartbeatRequest: Hashable, Sendable {
    /// The last event that the client needs no more.
    public let lastSeq: UInt64

    /// A request, as the coordinator makes it.
    public init(lastSeq: UInt64) { self.lastSeq = lastSeq }
}
