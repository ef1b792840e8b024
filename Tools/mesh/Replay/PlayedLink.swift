#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshIdentity
    import MeshPipeTransport
    import MeshToolOutput
    import MeshTransport
    import WorkoutExample

    #if UDP || MQTT || WebSocket
        import MeshSecurity
    #endif
    #if UDP
        import MeshUDPTransport
    #endif
    #if MQTT
        import MeshMQTTTransport
    #endif
    #if WebSocket
        import MeshGatewayTransport
    #endif
    #if MQTT || WebSocket
        import MeshRelay
    #endif

    /// A replayed peer's end of the link to the other one.
    struct PlayedLink {
        let peer: SessionPeer
        let peerIDs: [ReplayPlan.Actor: String]
        let link: CountingLink

        /// - Throws: `ToolError`, or an error of the link.
        init(_ actor: ReplayPlan.Actor, _ options: ReplayOptions, home: String?) throws {
            switch options.link {
            case .pipe: try self.init(actor, .standardStreams)
            case .unix(let path): try self.init(actor, .meeting(path: path))
            case .udp:
                #if UDP
                    try self.init(actor, home: home, interface: options.interface)
                #else
                    throw ToolError.needsUDP
                #endif
            case .mqtt(let url):
                #if MQTT
                    try self.init(actor, home: home, broker: try options.password.broker(at: url))
                #else
                    throw ToolError.needsMQTT
                #endif
            case .gateway(let url):
                #if WebSocket
                    try self.init(actor, home: home, gateway: url, token: options.token.read() ?? "replay")
                #else
                    throw ToolError.needsWebSocket
                #endif
            }
        }

        private init(_ actor: ReplayPlan.Actor, _ endpoint: PipeEndpoint) throws {
            peerIDs = [:]
            peer = SessionPeer(actor, id: actor.rawValue, .sameHost)
            link = CountingLink(try PipeLink(endpoint))
        }

        #if UDP
            private init(_ actor: ReplayPlan.Actor, home folder: String?, interface: String?) throws {
                let home = try PeerHome(actor, folder)
                let configuration = try LocalNetwork(interface: interface).linkConfiguration(home: home)
                try self.init(
                    actor, home, configuration.identity, configuration.trustedPeers, .localNetwork,
                    UDPLink(configuration))
            }
        #endif

        #if MQTT
            private init(_ actor: ReplayPlan.Actor, home folder: String?, broker: MQTTBroker) throws {
                let home = try PeerHome(actor, folder)
                let configuration = MQTTLinkConfiguration(
                    identity: try home.identity(), trustedPeers: try home.trustedPeers(), broker: broker)
                try self.init(
                    actor, home, configuration.identity, configuration.trustedPeers, .unknown,
                    try RelayLink(configuration))
            }
        #endif

        #if WebSocket
            private init(_ actor: ReplayPlan.Actor, home folder: String?, gateway url: String, token: String) throws {
                let home = try PeerHome(actor, folder)
                let configuration = GatewayLinkConfiguration(
                    identity: try home.identity(), trustedPeers: try home.trustedPeers(), url: url,
                    token: { token })
                try self.init(
                    actor, home, configuration.identity, configuration.trustedPeers, .unknown,
                    try RelayLink(configuration))
            }
        #endif

        #if UDP || MQTT || WebSocket
            private init(
                _ actor: ReplayPlan.Actor, _ home: PeerHome, _ identity: PeerIdentity, _ trustedPeers: TrustedPeers,
                _ topology: SessionPeerTopology, _ link: any TransportLink
            ) throws {
                guard let other = trustedPeers.peers.first else {
                    throw ToolError("the peer in \(home.folder.path) isn't paired: run `mesh pair`")
                }
                let id = identity.peerID.description
                peerIDs = [actor: id, actor == .phone ? .watch : .phone: other.id.description]
                peer = SessionPeer(actor, id: id, topology)
                self.link = CountingLink(link)
                self.home = home
            }

            // Kept open while the peer plays.
            private var home: PeerHome?
        #endif
    }

    #if UDP || MQTT || WebSocket
        extension PeerHome {
            fileprivate convenience init(_ actor: ReplayPlan.Actor, _ folder: String?) throws {
                try self.init(name: PeerName(actor.rawValue), folder: folder)
            }
        }
    #endif

    extension SessionPeer {
        fileprivate init(_ actor: ReplayPlan.Actor, id: String, _ topology: SessionPeerTopology) {
            self.init(
                id: id, deviceClass: SessionPeerDeviceClass(rawValue: actor.rawValue),
                appInstanceID: UUID().uuidString, topology: topology)
        }
    }

    /// A link that counts the bytes it accepts.
    final class CountingLink: LinkWrapper, GuestAdmittingLink {
        let base: any TransportLink
        private let count = Locked<UInt64>(0)

        init(_ base: any TransportLink) { self.base = base }

        /// Number of bytes sent so far, with frames and compression.
        var bytesSent: UInt64 { count.withLock { $0 } }

        func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
            try base.send(packet, to: address)
            count.withLock { $0 += UInt64(packet.bytes.count) }
        }

        func admit(guests peerIDs: Set<String>) { (base as? any GuestAdmittingLink)?.admit(guests: peerIDs) }
    }
#endif
