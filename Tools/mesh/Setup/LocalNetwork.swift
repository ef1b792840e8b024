#if CommandLineTools && UDP
    import Foundation
    import SessionMesh

    extension NetworkOptions {
        /// A discovery serves one link or one window.
        func makeDiscovery() -> any ServiceDiscovery {
            #if canImport(Darwin)
                SystemDiscovery(interface: interface)
            #else
                MulticastDNS(options: MulticastDNSOptions(interfaces: interface.map { [$0] }))
            #endif
        }

        /// - Throws: `ToolError`.
        func manualPeers() throws -> [UDPManualPeer] {
            try peer.map { text in
                guard let peer = UDPManualPeer(text) else {
                    throw ToolError("--peer takes a host and a port, such as 192.168.1.7:4711, not '\(text)'")
                }
                return peer
            }
        }

        /// - Throws: what reading the home throws; `ToolError`.
        func linkConfiguration(home: PeerHome) throws -> UDPLinkConfiguration {
            UDPLinkConfiguration(
                identity: try home.identity(), trustedPeers: try home.trustedPeers(), discovery: makeDiscovery(),
                manualPeers: try manualPeers(), port: port, interface: interface)
        }
    }

    extension PeerHome {
        /// - Throws: `ToolError`.
        func identity() throws -> PeerIdentity {
            do {
                return try PeerIdentity(file: folder.appending(path: "identity.key").path)
            } catch {
                throw ToolError("the identity in \(folder.path): \(error)")
            }
        }

        /// - Throws: `ToolError`.
        func trustedPeers() throws -> TrustedPeers {
            do {
                return try TrustedPeers(file: folder.appending(path: "paired.json").path)
            } catch {
                throw ToolError("the paired peers in \(folder.path): \(error)")
            }
        }
    }
#endif
