#if UDP
    package import MeshDelivery
    package import MeshSecurity
    import MeshTransport
    package import MeshUDPTransport

    extension LinkFixture {
        /// Links at the loopback address that trust each other and find each other on a network in memory.
        package static let udp: LinkFixture = {
            // Shared by all calls: a relaunched peer keeps its key.
            let identities = (0..<countMax).map { _ in PeerIdentity() }
            return LinkFixture(countMax: countMax, patience: 50_000) { count in
                let members = Array(identities.prefix(count))
                return LinkGroup(
                    try InMemoryNetwork().configurations(members).map { UDPLink($0) },
                    peerIDs: members.map(\.peerID.description),
                    settle: { try? await Task.sleep(for: .microseconds(100)) })
            }
        }()

        /// Two, because of three peers any two may meet first, and some rules must know the order.
        private static let countMax = 2
    }

    extension InMemoryNetwork {
        /// Returns configurations of peers at the loopback address that trust each other.
        package func configurations(_ identities: [PeerIdentity]) throws -> [UDPLinkConfiguration] {
            try identities.map { identity in
                let trusted = TrustedPeers()
                for other in identities where other.peerID != identity.peerID {
                    try trusted.trust(TrustedPeer(id: other.peerID, name: "fixture", isOwn: true))
                }
                return UDPLinkConfiguration(
                    identity: identity, trustedPeers: trusted, discovery: makeDiscovery(), address: "127.0.0.1")
            }
        }

        /// Returns two paired transports that haven't started. Reliable messages use TLS.
        package func pair() throws -> [UDPSessionSyncTransport] {
            try configurations([PeerIdentity(), PeerIdentity()]).map { try UDPSessionSyncTransport(configuration: $0) }
        }
    }
#endif
