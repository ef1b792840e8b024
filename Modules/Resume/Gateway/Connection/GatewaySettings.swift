public import MeshResume

/// The times and bounds that a gateway grants a connection.
public struct GatewaySettings: Sendable {
    /// The time between two heartbeats, which hello announces. A client that sends nothing for twice as long is closed
    /// and can resume.
    public var heartbeatInterval = Duration.seconds(30)
    /// Maximum time from hello, or from an invalid session, to identify or resume.
    public var identifyTimeout = Duration.seconds(10)
    /// Of one frame of a client's.
    let frameBytesMax = 4096
    /// Frames of a client's: so many at once, and so many a minute.
    package var framesAtOnce = 120
    /// Frames of a client in a minute, beyond those at once.
    public var framesPerMinute = 120
    /// A resume that would replay more is refused: the client loads afresh.
    let replayMax = 10_000
    /// Read from the buffer at a time.
    package var pageEntries = 100
    /// Bytes that wait for the socket, beyond which nothing more is read for it; one page more at most.
    package var unsentBytesMax = 256 << 10
    /// How long that many may wait before the connection is closed, resumably.
    package var stallTimeout = Duration.seconds(30)
    /// A connection to which nothing came for this long asks the buffer whether it has missed a notice.
    package var catchUpInterval = Duration.seconds(30)

    /// A client is asked for a new token this long before its token expires.
    public var tokenRenewalLead = Duration.seconds(30)
    /// The longest life of a token. A user that was disconnected is remembered for as long.
    public var tokenLifetimeMax = Duration.seconds(86_400)

    /// Creates settings with the default of every value.
    public init() {}
}

/// An instruction of a connection to its server, to carry out in order.
public enum GatewayDirective: Hashable, Sendable {
    /// A frame, as the connection's encoding has it. `GatewayCore.flushed` says when it has left.
    case send([UInt8])
    /// Ask the app whose token it is: `authenticated`.
    case authenticate(token: String, ClientProperties?)
    /// Ask the buffer: `located`.
    case locate(stream: String)
    /// Ask the buffer: `read`.
    case read(stream: String, after: ReplayPosition, limit: Int)
    /// Closes the connection, after which no instruction follows.
    case close(CloseCode, reason: String)
}
