import MeshBase

/// The bounds of each WebSocket, and of the number of WebSockets. They apply whether or not a user has authenticated.
public struct WebSocketLimits: Hashable, Sendable {
    /// Maximum size in bytes of a message with all its fragments, and of each fragment. A larger one closes the
    /// connection with code 1009.
    public var messageBytesMax = 64 << 10
    /// Maximum time from the connection to the upgrade, including TLS. After it the connection is closed.
    package var upgradeTimeout = Duration.seconds(10)
    /// Maximum time for the other side to answer a close.
    package var closeTimeout = Duration.seconds(5)
    /// Maximum number of open connections. Further ones are closed before a byte is read. The default is 100,000, or
    /// fewer if the system allows fewer. The last tenth is for addresses at which a user has authenticated before.
    public var connectionsMax: Int
    /// Maximum number of open connections per IP address.
    public var connectionsPerAddress = 1000

    /// Creates limits with the default of every value.
    public init() { connectionsMax = min(Self.connectionsDefault, Self.connectionsThatFit) }
}

extension WebSocketLimits {
    /// The default of `connectionsMax`, if the system allows as many.
    package static let connectionsDefault = 100_000
    /// The number of files and sockets reserved for uses other than clients.
    static let descriptorsKept = 64

    /// The number of connections that the hard limit of descriptors (`ulimit -Hn`) allows.
    package static var connectionsThatFit: Int { max(1, DescriptorLimit.current.hard - descriptorsKept) }

    /// Returns the effective limits. A lower soft limit of descriptors lowers `connectionsMax`.
    /// - Throws: `WebSocketError.Code.invalidSettings` if `connectionsMax` exceeds the hard limit.
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
