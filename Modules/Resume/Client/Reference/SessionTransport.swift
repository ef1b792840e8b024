/// The app's socket, through which the coordinator sends. An implementation encodes requests as frames, and passes
/// arriving frames to the coordinator.
///
/// The coordinator holds its transport strongly, so a transport must hold its coordinator weakly. A call may suspend,
/// and may never return on a dead socket: the coordinator doesn't wait for one heartbeat before it sends the next.
public protocol SessionTransport: AnyObject, Sendable {
    /// Sends the first frame of a connection.
    ///
    /// - Throws: Any error. The coordinator then asks for another connection.
    func sendHandshake(_ request: HandshakeRequest) async throws
    /// Sends a heartbeat on the connection.
    ///
    /// - Throws: Any error. The coordinator then asks for another connection.
    func sendHeartbeat(_ request: HeartbeatRequest) async throws
}

/// The first frame of a client on a connection.
public struct HandshakeRequest: Hashable, Sendable {
    /// The type of a handshake.
    public enum Kind: Hashable, Sendable {
        /// Begins a new session.
        case identify(ClientProperties)
        /// Resumes a session: asks for every event after `lastSeq`.
        case resume(sessionId: String, lastSeq: UInt64)
    }

    /// The type of the handshake.
    public let kind: Kind
    /// The token that the app's closure returned for this connection.
    public let token: String

    /// Creates a request, as the coordinator does.
    public init(kind: Kind, token: String) {
        self.kind = kind
        self.token = token
    }
}

/// A heartbeat, with the last event that the client has processed.
public struct HeartbeatRequest: Hashable, Sendable {
    /// The last event that the client has processed.
    public let lastSeq: UInt64

    /// Creates a request, as the coordinator does.
    public init(lastSeq: UInt64) { self.lastSeq = lastSeq }
}
