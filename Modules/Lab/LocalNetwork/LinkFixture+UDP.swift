#if UDP
    package import MeshDelivery
    import MeshSecurity
    import MeshTransport
    import MeshUDPTransport

    extension LinkFixture {
        /// Links at the loopback address that trust each other and find each other on a network in memory.
        package static let udp: LinkFixture = {
            // The same at every call: a peer that is relaunched has the key that it had.
            let identities = (0..<countMax).map { _ in PeerIdentity() }
            return LinkFixture(countMax: countMax, patience: 50_000) { count in
                let network = InMemoryNetwork()
                let members = identities.prefix(count)
                let links = try members.map { identity in
                    let trusted = TrustedPeers()
                    for other in members where other.peerID != identity.peerID {
                        try trusted.trust(TrustedPeer(id: other.peerID, name: "fixture"))
                    }
                    return UDPLink(
                        UDPLinkConfiguration(
                            identity: identity, trustedPeers: trusted, discovery: network.makeDiscovery(),
                            address: "127.0.0.1"))
                }
                return LinkGroup(
                    links, peerIDs: members.map(\.peerID.description),
                    settle: { try? await Task.sleep(for: .microseconds(100)) })
            }
        }()

        /// Of three that find each other by themselves nobody can say who meets first, and some rules have to know.
        private static let countMax = 2
    }
#endif
