/// The bounds for connections that haven't authenticated.
public struct WebSocketLimits: Hashable, Sendable {
    /// Maximum size in bytes of a message with all its fragments, and of each fragment. A larger one closes the
    /// connection with code 1009.
    public var messageBytesMax = 64 << 10
    /// From the connection to the WebSocket, TLS included. Later: closed.
    package var upgradeTimeout = Duration.seconds(10)
    /// How long the other side may take to answer a close.
    package var closeTimeout = Duration.seconds(5)
    /// Open connections in all, and from one address. More: closed before a byte is read.
    public var connectionsMax = 100_000
    /// Open connections of one IP address.
    public var connectionsPerAddress = 1000

    /// Creates limits with the default of every value.
    public init() {}
}
