#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshDelivery
    import MeshIdentity
    import MeshPipeTransport
    import MeshSession
    import MeshToolOutput
    import WorkoutExample

    #if UDP
        import MeshDiscovery
        import MeshUDPTransport
    #endif
    #if MQTT
        import MeshMQTTTransport
    #endif
    #if WebSocket
        import MeshGatewayTransport
    #endif

    /// The options for the link by which a peer reaches the others.
    struct LinkOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                """
                'udp', the local network; 'unix:' and a path; a broker, 'mqtt://host' or 'mqtts://host'; or a gateway, \
                'wss://host', or 'ws://' on this machine.
                """, valueName: "link"))
        var link = PeerLink.udp

        @OptionGroup var broker: BrokerOptions

        @OptionGroup var token: GatewayToken
        @OptionGroup var network: NetworkOptions

        @Option(
            help: ArgumentHelp(
                "Keeps identity and pairings; by default ~/.config/sessionmesh/NAME.", valueName: "folder"))
        var home: String?

        func validate() throws {
            try broker.validate(for: link)
            try token.validate(url: link.gatewayURL)
            if link != .udp, network.isGiven {
                throw ValidationError("--interface, --peer and --port are for --link udp")
            }
        }

        /// - Throws: `ToolError`.
        func connection(name: PeerName, home: PeerHome) throws -> PeerConnection {
            do {
                return try uncheckedConnection(name: name, home: home)
            } catch {
                throw explained(error)
            }
        }

        /// Turns an error that kept the link from starting into one line that says what to do.
        func explained(_ error: any Error) -> any Error {
            switch (error, link) {
            case (let error as PipeError, .unix(let path)): ToolError(error, at: path)
            #if UDP
                case (is UDPLinkError, _), (is DiscoveryError, _):
                    ToolError("the local network cannot be used: \(error); `mesh doctor` tells what is in the way")
            #endif
            default: error
            }
        }

        private func uncheckedConnection(name: PeerName, home: PeerHome) throws -> PeerConnection {
            switch link {
            case .unix(let path):
                let peer = SessionPeer(
                    id: name.value, deviceClass: name.deviceClass, appInstanceID: UUID().uuidString,
                    topology: .sameHost)
                // The peers that connect to the listening one can't reach each other.
                return PeerConnection(
                    transport: try PipeSessionSyncTransport(localPeer: peer, over: .meeting(path: path)).delivery,
                    membersMax: 2)
            case .mqtt(let url):
                #if MQTT
                    return try brokerConnection(url: url, name: name, home: home)
                #else
                    throw ToolError.needsMQTT
                #endif
            case .gateway(let url):
                #if WebSocket
                    return try gatewayConnection(url: url, name: name, home: home)
                #else
                    throw ToolError.needsWebSocket
                #endif
            case .udp:
                #if UDP
                    return PeerConnection(
                        transport: try UDPSessionSyncTransport(
                            configuration: try network.network.linkConfiguration(home: home),
                            deviceClass: name.deviceClass,
                            appInstanceID: UUID().uuidString
                        ).delivery,
                        membersMax: SessionInvitation.membersMax)
                #else
                    throw ToolError.needsUDP
                #endif
            }
        }
    }

    #if MQTT
        extension LinkOptions {
            /// - Throws: `ToolError`.
            private func brokerConnection(url: String, name: PeerName, home: PeerHome) throws -> PeerConnection {
                PeerConnection(
                    transport: try MQTTSessionSyncTransport(
                        configuration: MQTTLinkConfiguration(
                            identity: try home.identity(), trustedPeers: try home.trustedPeers(),
                            broker: try broker.broker(at: url)),
                        deviceClass: name.deviceClass, appInstanceID: UUID().uuidString
                    ).delivery,
                    membersMax: SessionInvitation.membersMax)
            }
        }

        extension MQTTBroker {
            /// - Throws: `ToolError`.
            init(argument url: String) throws {
                guard let broker = MQTTBroker(url: url) else {
                    throw ToolError("--link takes a broker such as mqtts://user@host:8883, not '\(url)'")
                }
                self = broker
            }
        }
    #endif

    #if WebSocket
        extension LinkOptions {
            /// - Throws: `ToolError`.
            private func gatewayConnection(url: String, name: PeerName, home: PeerHome) throws -> PeerConnection {
                let token = try token.read() ?? "me"
                var configuration = GatewayLinkConfiguration(
                    identity: try home.identity(), trustedPeers: try home.trustedPeers(), url: url, token: { token })
                configuration.authoritiesPath = broker.authorities
                return PeerConnection(
                    transport: try GatewaySessionSyncTransport(
                        configuration: configuration, deviceClass: name.deviceClass, appInstanceID: UUID().uuidString
                    ).delivery,
                    membersMax: SessionInvitation.membersMax)
            }
        }
    #endif

    /// A live peer's transport, and the size limit of its workout.
    struct PeerConnection {
        let transport: LinkTransport
        /// Maximum number of devices in a workout.
        let membersMax: Int
    }

    extension ToolError {
        static let needsUDP = ToolError(
            "mesh was built without the trait UDP, which the local network needs; "
                + "build it with --traits default,UDP, or use --link unix:/path"
        )
        static let needsMQTT = ToolError(
            "mesh was built without the trait MQTT, which a broker needs; build it with --traits default,MQTT")
        static let needsWebSocket = ToolError(
            "mesh was built without the trait WebSocket, which a gateway needs; build it with --traits default,WebSocket"
        )
    }

    extension ToolError {
        /// Creates an error that says why peers can't meet at the socket.
        init(_ error: PipeError, at path: String) {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            switch (error.code, error.errorNumber) {
            case (.addressInUse, _):
                self.init("two peers meet at '\(path)' already; name another path with --link unix:/path")
            case (.systemCallFailed, ENOENT):
                self.init("there is no folder '\(folder)'; make it, or name another path with --link unix:/path")
            case (.systemCallFailed, EACCES), (.systemCallFailed, EPERM), (.systemCallFailed, EROFS):
                self.init(
                    "you may not write in '\(folder)'; name a path in a folder of your own with --link unix:/path")
            case (.systemCallFailed, ENOTDIR):
                self.init("'\(folder)' is no folder; name another path with --link unix:/path")
            case (.systemCallFailed, let number):
                let reason = String(cString: strerror(number))
                self.init("peers cannot meet at '\(path)': \(reason); name another path with --link unix:/path")
            default: self.init("\(error.message); name another path with --link unix:/path")
            }
        }
    }

    /// The options of a broker or a gateway, for `--link mqtts://host` and `--link wss://host`.
    struct BrokerOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "With --link mqtts:// or wss://: the authorities to believe, a PEM file; by default the system's.",
                valueName: "file"))
        var authorities: String?

        @OptionGroup var password: BrokerPassword

        /// - Throws: `ValidationError`.
        func validate(for link: PeerLink) throws {
            try password.validate(url: link.brokerURL)
            guard authorities != nil else { return }
            if case .mqtt(let url) = link, url.hasPrefix("mqtts://") { return }
            if case .gateway(let url) = link, url.hasPrefix("wss://") { return }
            throw ValidationError("--authorities is for --link mqtts://host and wss://host")
        }

        #if MQTT
            /// - Throws: `ToolError`.
            func broker(at url: String) throws -> MQTTBroker {
                var broker = try password.broker(at: url)
                broker.authoritiesPath = authorities
                return broker
            }
        #endif
    }

    /// The options of the local network, for `--link udp`.
    struct NetworkOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The one network interface to use; by default all.", valueName: "name"))
        var interface: String?

        @Option(help: ArgumentHelp("A peer that is not found by itself; may be repeated.", valueName: "host:port"))
        var peer: [String] = []

        @Option(help: ArgumentHelp("Where others connect to; by default a free one.", valueName: "number"))
        var port: UInt16 = 0

        var isGiven: Bool { interface != nil || !peer.isEmpty || port != 0 }
    }

    enum PeerLink: Hashable, Sendable, ExpressibleByArgument {
        case udp
        /// A Unix socket at a path where the peers meet.
        case unix(path: String)
        /// An MQTT broker where paired peers meet.
        case mqtt(url: String)
        /// A gateway that has mailboxes for paired peers.
        case gateway(url: String)

        var isGateway: Bool { gatewayURL != nil }
        var gatewayURL: String? { if case .gateway(let url) = self { url } else { nil } }
        var brokerURL: String? { if case .mqtt(let url) = self { url } else { nil } }

        init?(argument: String) {
            if argument == "udp" {
                self = .udp
            } else if argument.hasPrefix("mqtt://") || argument.hasPrefix("mqtts://") {
                self = .mqtt(url: argument)
            } else if argument.hasPrefix("ws://") || argument.hasPrefix("wss://") {
                self = .gateway(url: argument)
            } else if argument.hasPrefix("unix:"), argument.count > 5 {
                self = .unix(path: String(argument.dropFirst(5)))
            } else {
                return nil
            }
        }

        var defaultValueDescription: String {
            switch self {
            case .udp: "udp"
            case .unix(let path): "unix:\(path)"
            case .mqtt(let url), .gateway(let url): url
            }
        }
    }
#endif
