#if WebSocket
    package import MeshBus
    package import MeshDelivery
    package import MeshGatewayServer
    package import MeshGatewayTransport
    import MeshRelay
    package import MeshResumeGateway
    package import MeshSecurity
    import MeshTransport

    /// MeshGatewayTransport's plugin, plus links for the conformance rules, which meet at a gateway in this process.
    package struct ExaminableGatewayTransportPlugin: Plugin {
        private let transport = GatewayTransportPlugin()

        package init() {}

        package var descriptor: PluginDescriptor { transport.descriptor }

        package func contribute(to registry: inout ExtensionRegistry) throws {
            try transport.contribute(to: &registry)
            registry.add(.gateway(), to: .linkFixtures)
        }
    }

    extension LinkFixture {
        /// Returns links that trust each other and have connected to their gateway before, so that it keeps messages
        /// for them.
        package static func gateway() -> LinkFixture {
            let identities = (0..<2).map { _ in PeerIdentity() }
            return LinkFixture(countMax: 2, patience: 300_000) { count in
                // Each rule gets its own gateway, because a shared one would deliver messages left by another rule.
                let gateway = try await LabGateway.start()
                let configurations = try gateway.configurations(Array(identities.prefix(count)))
                try await introduce(configurations)
                return LinkGroup(
                    try configurations.map { try RelayLink($0) },
                    peerIDs: identities.prefix(count).map(\.peerID.description),
                    settle: {
                        try? await Task.sleep(for: .microseconds(200))
                        withExtendedLifetime(gateway) {}
                    })
            }
        }

        /// Connects each peer to the gateway until it has found the others. Does nothing for a single peer.
        package static func introduce(_ configurations: [GatewayLinkConfiguration]) async throws {
            guard configurations.count > 1 else { return }
            let visitors = try configurations.map { (try RelayLink($0), Visitor()) }
            for (link, visitor) in visitors { try link.open(visitor) }
            while !visitors.allSatisfy({ $0.1.foundCount == configurations.count - 1 }) {
                try await Task.sleep(for: .milliseconds(1))
            }
            for (link, _) in visitors { await link.close() }
        }
    }

    /// A gateway in this process that accepts every token as a user's name.
    package final class LabGateway: Sendable {
        package let server: GatewayServer

        package var url: String { "ws://127.0.0.1:\(server.port)/" }

        private init(_ server: GatewayServer) { self.server = server }

        /// - Parameter framesPerSecond: The frame rate that a device is granted.
        package static func start(framesPerSecond: Int) async throws -> LabGateway {
            var settings = GatewayServerSettings()
            settings.mailbox.framesPerSecond = framesPerSecond
            return try await start(settings)
        }

        package static func start(
            _ settings: GatewayServerSettings = .init(), store: any MailboxStore = MemoryMailboxStore()
        ) async throws -> LabGateway {
            LabGateway(
                try await GatewayServer.start(
                    settings, app: GatewayApp { token, _ in token.isEmpty ? nil : token }, buffer: MemoryReplayBuffer(),
                    mailboxes: store))
        }

        deinit {
            let server = server
            Task { await server.crash() }
        }

        /// Returns configurations of peers that trust each other and belong to one user.
        package func configurations(_ identities: [PeerIdentity]) throws -> [GatewayLinkConfiguration] {
            try identities.map { identity in
                let trusted = TrustedPeers()
                for other in identities where other.peerID != identity.peerID {
                    try trusted.trust(TrustedPeer(id: other.peerID, name: "fixture", isOwn: true))
                }
                return GatewayLinkConfiguration(
                    identity: identity, trustedPeers: trusted, url: url, token: { "anna" })
            }
        }

        /// Returns two paired transports that haven't started.
        package func pair() throws -> [GatewaySessionSyncTransport] {
            try configurations([PeerIdentity(), PeerIdentity()]).map {
                try GatewaySessionSyncTransport(configuration: $0)
            }
        }
    }

    private final class Visitor: LinkObserver {
        private let found = Locked<Set<LinkAddress>>([])

        var foundCount: Int { found.withLock { $0.count } }

        func found(_ address: LinkAddress, as peerID: String?) { found.withLock { _ = $0.insert(address) } }
        func connected(_ address: LinkAddress, as peerID: String?) {}
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {}
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) {}
        func failed(_ reason: String) {}
    }
#endif
