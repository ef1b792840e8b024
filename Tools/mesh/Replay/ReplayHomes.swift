#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    #if UDP || MQTT || WebSocket
        import MeshSecurity
    #endif
    #if UDP
        import MeshDiscovery
        import MeshUDPTransport
    #endif

    /// Two homes of peers that are paired with each other, for one replay.
    struct ReplayHomes {
        private let folder: URL
        private let interface: String?

        /// Pairs the peers. For the local network it uses a secret, as `mesh pair` does. For a broker or a gateway it stores that
        /// each trusts the other.
        /// - Throws: `ToolError`.
        init(options: ReplayOptions) async throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "mesh-replay-\(UUID().uuidString)")
            if options.link != .udp {
                interface = nil
                #if MQTT || WebSocket
                    try introduce()
                    return
                #else
                    throw ToolError.needsMQTT
                #endif
            }
            #if UDP
                interface = options.interface ?? Self.loopback
                do {
                    try await pair()
                } catch {
                    remove()
                    throw ToolError(
                        "the two peers couldn't be paired: \(error). Run `mesh doctor` to find the cause")
                }
            #else
                throw ToolError.needsUDP
            #endif
        }

        func remove() { try? FileManager.default.removeItem(at: folder) }

        func arguments(of actor: ReplayPlan.Actor) -> [String] {
            ["--home", folder.appending(path: actor.rawValue).path] + (interface.map { ["--interface", $0] } ?? [])
        }

        #if MQTT || WebSocket
            private func introduce() throws {
                let homes = try ReplayPlan.Actor.allCases.map { actor in
                    try PeerHome(
                        name: PeerName(actor.rawValue), folder: folder.appending(path: actor.rawValue).path,
                        isLive: false)
                }
                let ids = try homes.map { try $0.identity().peerID }
                for (index, home) in homes.enumerated() {
                    let trusted = try home.trustedPeers()
                    for id in ids where id != ids[index] { try trusted.trust(TrustedPeer(id: id, name: "replay")) }
                }
            }
        #endif

        #if UDP
            private static var loopback: String? {
                try? NetworkInterfaces.all().first { $0.isUp && $0.interface.isLoopback }?.interface.name
            }

            private func pair() async throws {
                let secret = PairingSecret()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for actor in ReplayPlan.Actor.allCases {
                        let name = try PeerName(actor.rawValue)
                        let home = try PeerHome(
                            name: name, folder: folder.appending(path: actor.rawValue).path, isLive: false)
                        let window = try LocalNetwork(interface: interface)
                            .pairing(name, home: home, method: .secret(secret))
                        group.addTask { _ = try await window.run() }
                    }
                    try await group.waitForAll()
                }
            }
        #endif
    }
#endif
