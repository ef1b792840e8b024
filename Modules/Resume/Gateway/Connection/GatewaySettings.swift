public import MeshResume

/// The times and bounds that a gateway grants a connection.
public struct GatewaySettings: Sendable {
    /// The time between two heartbeats, which hello announces. The gateway closes a client that sends nothing for twice as long.
    /// The client can resume.
    public var heartbeatInterval = Duration.seconds(30)
    /// Maximum time from hello, or from an invalid session, to identify or resume.
    public var identifyTimeout = Duration.seconds(10)
    /// Maximum number of bytes in a client's frame.
    let frameBytesMax = 4096
    /// Maximum number of a client's frames in a burst.
    package var framesAtOnce = 120
    /// Maximum number of a client's frames per minute, after a burst.
    public var framesPerMinute = 120
    /// Maximum number of events in a replay. A resume that missed more is refused, and the client reloads its state.
    let replayMax = 10_000
    /// Maximum number of events read from the buffer at a time.
    package var pageEntries = 100
    /// Number of bytes waiting for the socket at which the connection stops reading the buffer. One page may exceed it.
    package var unsentBytesMax = 256 << 10
    /// Maximum time for which `unsentBytesMax` bytes may wait. After it the gateway closes the connection, and the
    /// client can resume.
    package var stallTimeout = Duration.seconds(30)
    /// Time without a notice or page after which a connection asks the buffer whether it has missed a notice.
    package var catchUpInterval = Duration.seconds(30)

    /// Time before a token's expiry at which the gateway asks the client for a new one.
    public var tokenRenewalLead = Duration.seconds(30)
    /// Maximum lifetime of a token. A disconnected user is remembered for as long.
    public var tokenLifetimeMax = Duration.seconds(86_400)

    /// Creates settings with the default of every value.
    public init() {}
}

/// An instruction from a connection to its server. The server performs them in order.
public enum GatewayDirective: Hashable, Sendable {
    /// Send a frame in the connection's encoding, and report with `flushed` when it has left.
    case send([UInt8])
    /// Ask the app which user the token belongs to, and answer with `authenticated`.
    case authenticate(token: String, ClientProperties?)
    /// Ask the buffer for the stream's range, and answer with `located`.
    case locate(stream: String)
    /// Ask the buffer for a page, and answer with `read`.
    case read(stream: String, after: ReplayPosition, limit: Int)
    /// Close the connection, after which no instruction follows.
    case close(CloseCode, reason: String)
}
