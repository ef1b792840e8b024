/// What a stranger may take.
public struct WebSocketLimits: Hashable, Sendable {
    /// Of a message in all its fragments, and of each of them. More: close code 1009.
    public var messageBytesMax = 64 << 10
    /// From the connection to the WebSocket, TLS included. Later: closed.
    package var upgradeTimeout = Duration.seconds(10)
    /// How long the other side may take to answer a close.
    package var closeTimeout = Duration.seconds(5)
    /// Open connections in all, and from one address. More: closed before a byte is read.
    public var connectionsMax = 100_000
    /// Open connections of one IP address.
    public var connectionsPerAddress = 1000

    /// The defaults.
    public init() {}
}
