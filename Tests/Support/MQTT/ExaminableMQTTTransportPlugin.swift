#if MQTT
    package import MeshBus
    package import MeshDelivery
    package import MeshMQTTTransport
    import MeshRelay
    package import MeshSecurity
    import MeshTransport

    /// MeshMQTTTransport's plugin, plus links for the conformance rules, which meet at a Mosquitto started for them.
    package struct ExaminableMQTTTransportPlugin: Plugin {
        private let transport = MQTTTransportPlugin()

        package init() {}

        package var descriptor: PluginDescriptor { transport.descriptor }

        package func contribute(to registry: inout ExtensionRegistry) throws {
            try transport.contribute(to: &registry)
            guard MosquittoBroker.isInstalled else { return }
            registry.add(.mqtt(), to: .linkFixtures)
        }
    }

    extension LinkFixture {
        /// Returns links that trust each other and have met at a broker before, so that it keeps messages for them.
        package static func mqtt() -> LinkFixture {
            let identities = (0..<2).map { _ in PeerIdentity() }
            return LinkFixture(countMax: 2, patience: 50_000) { count in
                // Each rule gets its own broker, because a shared one would deliver messages left by another rule.
                let mosquitto = try MosquittoBroker(["allow_anonymous true", "max_queued_messages 0"])
                let configurations = try configurations(Array(identities.prefix(count)), mosquitto.broker)
                try await introduce(configurations)
                let clients = try configurations.map {
                    WaitingClient(try MosquittoClient(broker: $0.broker, clientID: $0.clientID))
                }
                let links = try zip(configurations, clients).map { configuration, client in
                    var configuration = configuration
                    configuration.makeClient = { client }
                    return try RelayLink(configuration)
                }
                return LinkGroup(
                    links, peerIDs: identities.prefix(count).map(\.peerID.description),
                    connect: { for client in clients { client.begin() } },
                    settle: {
                        try? await Task.sleep(for: .microseconds(200))
                        withExtendedLifetime(mosquitto) {}
                    })
            }
        }

        package static func configurations(
            _ identities: [PeerIdentity], _ broker: MQTTBroker
        ) throws -> [MQTTLinkConfiguration] {
            try identities.map { identity in
                let trusted = TrustedPeers()
                for other in identities where other.peerID != identity.peerID {
                    try trusted.trust(TrustedPeer(id: other.peerID, name: "fixture", isOwn: true))
                }
                return MQTTLinkConfiguration(identity: identity, trustedPeers: trusted, broker: broker)
            }
        }

        /// Connects each peer to the broker until it has found another. Does nothing for a single peer.
        /// - Throws: `MosquittoBroker.Failure` if they don't find each other in three minutes, ample for a busy
        /// machine.
        package static func introduce(_ configurations: [MQTTLinkConfiguration]) async throws {
            guard configurations.count > 1 else { return }
            let visitors = try configurations.map { (try RelayLink($0), Visitor()) }
            for (link, visitor) in visitors { try link.open(visitor) }
            let end = ContinuousClock.now + .seconds(180)
            while !visitors.allSatisfy({ $0.1.hasFound }), ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(1))
            }
            for (link, _) in visitors { await link.close() }
            guard visitors.allSatisfy({ $0.1.hasFound }) else {
                throw MosquittoBroker.Failure(description: "peers have not found each other at the broker")
            }
        }
    }

    /// A client that opens another client only after `begin`. So a rule's steps before its peers meet really come
    /// first, even on a slow machine.
    private final class WaitingClient: RelayClient {
        private let client: MosquittoClient
        private let state = Locked<(observer: (any RelayClientObserver)?, hasBegun: Bool)>((nil, false))

        init(_ client: MosquittoClient) { self.client = client }

        func open(_ observer: any RelayClientObserver) {
            let hasBegun = state.withLock { state in
                state.observer = observer
                return state.hasBegun
            }
            if hasBegun { client.open(observer) }
        }

        /// Opens the client. Idempotent.
        func begin() {
            let observer = state.withLock { state in
                defer { state.hasBegun = true }
                return state.hasBegun ? nil : state.observer
            }
            if let observer { client.open(observer) }
        }

        var address: String { client.address }
        func subscribe(to topics: [String]) { client.subscribe(to: topics) }
        func unsubscribe(from topics: [String]) { client.unsubscribe(from: topics) }
        func publish(_ message: RelayMessage) throws(LinkError) { try client.publish(message) }
        func drop() { client.drop() }
        func close() async { await client.close() }
    }

    private final class Visitor: LinkObserver {
        private let found = Locked(false)

        var hasFound: Bool { found.withLock { $0 } }

        func found(_ address: LinkAddress, as peerID: String?) { found.withLock { $0 = true } }
        func connected(_ address: LinkAddress, as peerID: String?) {}
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {}
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) {}
        func failed(_ reason: String) {}
    }
#endif
