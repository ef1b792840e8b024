#if UDP
    public import MeshDiscovery
    public import MeshSecurity

    /// The identity, trusted peers and network settings of a `UDPLink`.
    public struct UDPLinkConfiguration: Sendable {
        /// The identity of this peer. If two devices use the same identity, every peer refuses them.
        public var identity: PeerIdentity
        /// The peers that the link connects to. Changes take effect at once.
        public var trustedPeers: TrustedPeers
        /// The discovery that finds peers and announces this one; nil for none. The link starts and stops it, so it
        /// serves one link only.
        public var discovery: (any ServiceDiscovery)?
        /// The peers that are dialed at known addresses, without discovery.
        public var manualPeers: [UDPManualPeer]
        /// The port at which other peers reach this one, by TCP and UDP. 0 takes any free port.
        public var port: UInt16
        /// The local IP address to listen on; nil for all, IPv6 and IPv4. A host name isn't accepted.
        public var address: String?
        /// The name of the only network interface over which peers are dialed and admitted; nil for all interfaces.
        public var interface: String?
        /// The bounds of connections, handshakes and queues.
        public var bounds = UDPLinkBounds()
        /// The times that the link waits for peers.
        public var times = UDPLinkTimes()

        /// Creates a configuration with default bounds and times.
        public init(
            identity: PeerIdentity, trustedPeers: TrustedPeers, discovery: (any ServiceDiscovery)? = nil,
            manualPeers: [UDPManualPeer] = [], port: UInt16 = 0, address: String? = nil, interface: String? = nil
        ) {
            self.identity = identity
            self.trustedPeers = trustedPeers
            self.discovery = discovery
            self.manualPeers = manualPeers
            self.port = port
            self.address = address
            self.interface = interface
        }
    }

    /// A peer that is dialed at a known address.
    public struct UDPManualPeer: Hashable, Sendable, CustomStringConvertible {
        /// The host name or IP address of the peer.
        public var host: String
        /// The TCP port of the peer.
        public var port: UInt16
        /// The peer that must be at the address; nil accepts any trusted peer.
        public var id: PeerID?

        /// Creates a peer at a known address.
        public init(host: String, port: UInt16, id: PeerID? = nil) {
            self.host = host
            self.port = port
            self.id = id
        }

        /// Reads an address from text.
        ///
        /// - Parameter text: A text such as `host:port`, with an IPv6 address in brackets. The result is nil if it has
        ///   another format.
        public init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0
            else { return nil }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = host.dropFirst().dropLast()
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty, host.utf8.count <= 253 else { return nil }
            self.init(host: String(host), port: port)
        }

        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// The bounds of a link's connections and queues.
    public struct UDPLinkBounds: Hashable, Sendable {
        /// Maximum number of bytes that a connection may send before it has proven its peer.
        let unprovenBytesMax = 8 << 10
        /// Maximum number of connections that haven't proven their peer. Further ones are closed at once.
        package var unprovenConnectionsMax = 32
        /// Maximum number of such connections from one address.
        package var unprovenConnectionsPerAddressMax = 4
        /// Maximum number of connections of one peer after it has proven its key, including the established one and
        /// those that are closing. Further ones are closed at once.
        let connectionsPerPeerMax = 8
        /// Maximum number of bytes waiting on one peer's stream. Beyond it `send` throws `full`.
        let streamBytesMax = 256 << 10
        /// Maximum number of datagrams waiting for one peer. Beyond it `send` throws `full`.
        let datagramCountMax = 512
        /// Maximum number of datagrams waiting for the stream while the peer receives none by UDP. Further ones replace
        /// the oldest.
        let fallbackCountMax = 64
        /// Maximum number of missed heartbeats in a row. It applies to peers of earlier versions, to a connection that
        /// another may replace, and to a datagram path in use.
        package var missedHeartbeatsMax = 3

        /// Creates bounds with the default of every value.
        public init() {}
    }

    /// The times that a link waits for peers.
    public struct UDPLinkTimes: Hashable, Sendable {
        /// Maximum time for a connection to prove its peer and send a hello.
        public var handshake = Duration.seconds(3)
        /// The interval by which the link measures silence. The link pings a peer after it has sent nothing to it for
        /// five intervals. It ends a connection on which the peer has sent nothing for ten. For a peer of an earlier
        /// version, these numbers are one and three.
        public var heartbeat = Duration.seconds(5)
        /// The time for which the peer with the higher ID lets the other one dial first.
        let higherIDDialDelay = Duration.seconds(1)
        /// The interval between tries at the addresses of one peer.
        let stagger = Duration.milliseconds(250)
        /// The delay before the first retry. It doubles up to `backoffMax` and is shortened at random by up to half.
        let backoffMin = Duration.milliseconds(100)
        /// The longest delay between two retries.
        let backoffMax = Duration.seconds(30)
        /// The time after which the announced label is replaced.
        public var label = Duration.seconds(3600)
        /// Maximum time for sending accepted packets when the link closes.
        public var closing = Duration.seconds(1)

        /// Creates times with the default of every value.
        public init() {}
    }
#endif
