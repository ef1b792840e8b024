#if UDP
    public import MeshDiscovery
    public import MeshSecurity

    /// The identity, trusted peers and network settings of a `UDPLink`.
    public struct UDPLinkConfiguration: Sendable {
        /// The identity of this peer. Two devices with one identity are refused by every peer.
        public var identity: PeerIdentity
        /// The peers that the link connects to. Changes take effect at once.
        public var trustedPeers: TrustedPeers
        /// Finds peers and announces this one; started and stopped by the link, so it serves one link only. nil for none.
        public var discovery: (any ServiceDiscovery)?
        /// Peers that are dialed without being found.
        public var manualPeers: [UDPManualPeer]
        /// The port at which others reach this peer, by TCP and UDP. 0 takes any free port.
        public var port: UInt16
        /// The own address to listen at, without a name; nil for every one, IPv6 and IPv4.
        public var address: String?
        /// The only network interface, by its name, over which peers are dialed and let in; nil for every one.
        public var interface: String?
        /// The bounds of connections, handshakes and queues.
        public var bounds = UDPLinkBounds()
        /// The times that the link waits for peers.
        public var times = UDPLinkTimes()

        /// Bounds and times are the defaults until they are set.
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

    /// A peer that is dialed at a known place.
    public struct UDPManualPeer: Hashable, Sendable, CustomStringConvertible {
        /// A name or an address.
        public var host: String
        /// The TCP port of the peer.
        public var port: UInt16
        /// The peer that must be at the address; nil accepts any trusted peer.
        public var id: PeerID?

        /// A peer at a known place.
        public init(host: String, port: UInt16, id: PeerID? = nil) {
            self.host = host
            self.port = port
            self.id = id
        }

        /// Reads an address from text.
        ///
        /// - Parameter text: `host:port`, an IPv6 address in brackets; nil when it is neither.
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
        /// Bytes that a connection may send before it has proven who is there.
        let unprovenBytesMax = 8 << 10
        /// Connections that have not proven who is there; more are closed at once.
        package var unprovenConnectionsMax = 32
        /// Of these, from one address.
        package var unprovenConnectionsPerAddressMax = 4
        /// Connections of one peer that has proven itself, one that stands and one that ends among them; more are closed at
        /// once.
        let connectionsPerPeerMax = 8
        /// Taken for one peer's stream and not yet handed to the system; then `send` throws `full`.
        let streamBytesMax = 256 << 10
        /// Datagrams taken for one peer and not yet handed to the system; then `send` throws `full`.
        let datagramCountMax = 512
        /// Datagrams that wait for the stream while the peer hears none; the oldest makes room.
        let fallbackCountMax = 64
        /// How many heartbeats in a row may be missed: of a peer of an earlier version, of a connection in whose place
        /// another one has been offered, and of a datagram path in use.
        package var missedHeartbeatsMax = 3

        /// Creates bounds with the default of every value.
        public init() {}
    }

    /// The times that a link waits for peers.
    public struct UDPLinkTimes: Hashable, Sendable {
        /// Maximum time for a connection to prove its peer and to greet.
        public var handshake = Duration.seconds(3)
        /// The time between signs of life of a peer that doesn't answer, or of an earlier version. A silent connection is
        /// asked after five times as long, and has ended after ten times.
        public var heartbeat = Duration.seconds(5)
        /// How long the peer with the higher id lets the other one dial first.
        let deference = Duration.seconds(1)
        /// Between the tries at the addresses of one peer.
        let stagger = Duration.milliseconds(250)
        /// Before dialing again, doubling from the first to the second, of which up to the half is left away at random.
        let backoffMin = Duration.milliseconds(100)
        /// The longest wait between two tries.
        let backoffMax = Duration.seconds(30)
        /// After which the announced name is drawn anew.
        public var label = Duration.seconds(3600)
        /// Maximum time for sending accepted packets when the link closes.
        public var closing = Duration.seconds(1)

        /// Creates times with the default of every value.
        public init() {}
    }
#endif
