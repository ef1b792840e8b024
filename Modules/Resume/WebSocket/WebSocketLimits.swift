import MeshBase

/// The bounds for connections that haven't authenticated.
public struct WebSocketLimits: Hashable, Sendable {
    /// Maximum size in bytes of a message with all its fragments, and of each fragment. A larger one closes the
    /// connection with code 1009.
    public var messageBytesMax = 64 << 10
    /// From the connection to the WebSocket, TLS included. Later: closed.
    package var upgradeTimeout = Duration.seconds(10)
    /// How long the other side may take to answer a close.
    package var closeTimeout = Duration.seconds(5)
    /// Open connections in all. More: closed before a byte is read. By default 100,000, or as many as the system lets this
    /// process have. The last tenth is for addresses at which a user has authenticated before.
    public var connectionsMax: Int
    /// Open connections of one IP address.
    public var connectionsPerAddress = 1000

    /// Creates limits with the default of every value.
    public init() { connectionsMax = min(Self.connectionsDefault, Self.connectionsThatFit) }
}

extension WebSocketLimits {
    /// The default of `connectionsMax` where the system allows as many.
    package static let connectionsDefault = 100_000
    /// Files and sockets of a process besides its clients' connections.
    static let descriptorsKept = 64

    /// How many connections this process could have with the hard limit of descriptors (`ulimit -Hn`).
    package static var connectionsThatFit: Int { max(1, DescriptorLimit.current.hard - descriptorsKept) }

    /// The limits that hold now: a soft limit of descriptors below `connectionsMax` closes connections sooner.
    /// - Throws: `WebSocketError.Code.invalidSettings` for more connections than the hard limit holds.
    func fitted() throws(WebSocketError) -> WebSocketLimits {
        guard connectionsMax <= Self.connectionsThatFit else {
            throw WebSocketError(
                .invalidSettings,
                "connectionsMax is \(connectionsMax), and this process may have \(DescriptorLimit.current.hard) files and "
                    + "sockets, of which \(Self.descriptorsKept) are for other uses: set connectionsMax to at most "
                    + "\(Self.connectionsThatFit), or raise the hard limit (ulimit -Hn, LimitNOFILE=)")
        }
        var limits = self
        limits.connectionsMax = min(connectionsMax, max(1, DescriptorLimit.current.soft - Self.descriptorsKept))
        return limits
    }
}
