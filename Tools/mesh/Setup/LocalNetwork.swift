#if CommandLineTools && UDP
    import Foundation
    import MeshDiscovery
    import MeshSecurity
    import MeshToolOutput
    import MeshUDPTransport

    extension NetworkOptions {
        /// - Throws: `ToolError`.
        var network: LocalNetwork {
            get throws {
                let peers = try peer.map { text in
                    guard let peer = UDPManualPeer(text) else {
                        throw ToolError("--peer takes a host and a port, such as 192.168.1.7:4711, not '\(text)'")
                    }
                    return peer
                }
                return LocalNetwork(interface: interface, peers: peers, port: port)
            }
        }
    }

    /// The network settings with which peers discover each other.
    struct LocalNetwork {
        /// The one interface to use; nil for all.
        var interface: String?
        var peers: [UDPManualPeer] = []
        /// The port to listen on; 0 for a free one.
        var port: UInt16 = 0

        /// Creates a discovery. Each link and each pairing window needs its own.
        func makeDiscovery() -> any ServiceDiscovery {
            #if canImport(Darwin)
                SystemDiscovery(interface: interface)
            #else
                MulticastDNS(options: MulticastDNSOptions(interfaces: interface.map { [$0] }))
            #endif
        }

        /// - Throws: `ToolError`.
        func linkConfiguration(home: PeerHome) throws -> UDPLinkConfiguration {
            UDPLinkConfiguration(
                identity: try home.identity(), trustedPeers: try home.trustedPeers(), discovery: makeDiscovery(),
                manualPeers: peers, port: port, interface: interface)
        }

        /// - Throws: `ToolError`.
        func pairing(
            _ name: PeerName, home: PeerHome, method: PairingExchange.Method, isOwn: Bool = false,
            isAdministrator: Bool = false
        ) throws -> UDPPairing {
            var configuration = UDPPairingConfiguration(
                identity: try home.identity(), trustedPeers: try home.trustedPeers(), name: name.value,
                method: method, discovery: makeDiscovery(), port: port, isOwn: isOwn,
                isAdministrator: isAdministrator)
            configuration.manualPeer = peers.first
            return UDPPairing(configuration)
        }
    }
#endif
