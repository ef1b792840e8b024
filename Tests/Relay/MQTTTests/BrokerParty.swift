#if MQTT
    import MeshBase
    import MeshDelivery
    import MeshMQTTLab
    @testable import MeshRelay
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport

    @testable import MeshMQTTTransport

    /// Two paired peers at a real Mosquitto.
    final class BrokerParty: Sendable {
        let broker: MosquittoBroker
        let clients: [MosquittoClient]
        let links: [RelayLink]
        let ears = [Ear(), Ear()]
        let diagnostics: Topic<SessionDiagnosticEvent>
        let ids: [PeerID]
        let clientIDs: [String]

        /// - Parameter isKnown: True if both peers have visited the broker before.
        init(_ settings: [String] = [], isKnown: Bool = true) async throws {
            let diagnostics = Topic<SessionDiagnosticEvent>(bufferLimit: 1024)
            self.diagnostics = diagnostics
            broker = try MosquittoBroker(["allow_anonymous true"] + settings)
            let identities = [PeerIdentity(), PeerIdentity()]
            ids = identities.map(\.peerID)
            let configurations = try LinkFixture.configurations(identities, broker.broker)
            clientIDs = configurations.map(\.clientID)
            if isKnown { try await LinkFixture.introduce(configurations) }
            clients = try configurations.map { try MosquittoClient(broker: $0.broker, clientID: $0.clientID) }
            links = try zip(configurations, clients).map { configuration, client in
                var configuration = configuration
                configuration.makeClient = { client }
                // A busy machine must not cause a failure.
                configuration.answerTime = patience
                return try RelayLink(configuration, diagnostics: diagnostics)
            }
        }

        func open(_ index: Int) throws { try links[index].open(ears[index]) }

        func meet() async throws {
            for index in 0..<2 { try open(index) }
            try await eventually("both to be connected") { ears.allSatisfy { $0.heard.connections > 0 } }
        }

        /// Sends when the link has space, and returns once the broker has the accepted messages.
        func send(_ bytes: [UInt8], on lane: LinkLane, from index: Int = 0) async throws {
            try await eventually("room on the lane \(lane.rawValue)") {
                do {
                    let packet = LinkPacket(lane: lane, bytes: bytes, key: lane == .latest ? "feature" : "")
                    try links[index].send(packet, to: ids[1 - index].address)
                    return true
                } catch { return false }
            }
            try await eventually("the broker to have it") {
                clients[index].state.withLock { $0.inFlightCount == 0 }
            }
        }

        func close() async { for link in links { await link.close() } }
    }

    /// An observer of one link.
    final class Ear: LinkObserver {
        struct Heard {
            var isFound = false
            var connections = 0
            var partings = 0
            var packets: [LinkLane: [[UInt8]]] = [:]
        }

        private let state = Locked(Heard())

        var heard: Heard { state.withLock { $0 } }
        func packets(on lane: LinkLane) -> [[UInt8]] { heard.packets[lane] ?? [] }

        func found(_ address: LinkAddress, as peerID: String?) { state.withLock { $0.isFound = true } }
        func connected(_ address: LinkAddress, as peerID: String?) { state.withLock { $0.connections += 1 } }
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            state.withLock { $0.packets[lane, default: []].append(Array(bytes)) }
        }
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) { state.withLock { $0.partings += 1 } }
        func failed(_ reason: String) {}
    }

    /// A client without a key, which the broker lets read and write everything.
    final class Stranger: RelayClientObserver {
        private let client: MosquittoClient
        private let state = Locked((isListening: false, seen: [RelayMessage]()))

        /// - Parameter filter: The topics to read; nil for none.
        init(at broker: MQTTBroker, as clientID: String = "stranger", filter: String? = "#") async throws {
            client = try MosquittoClient(broker: broker, clientID: clientID, sessionExpiry: .zero)
            client.open(self)
            try await eventually("the stranger to be at the broker") { client.state.withLock { $0.isConnected } }
            guard let filter else { return }
            client.subscribe(to: [filter])
            try await eventually("the stranger to listen") { state.withLock { $0.isListening } }
        }

        var seen: [RelayMessage] { state.withLock { $0.seen } }

        func publish(_ message: RelayMessage) async throws {
            try await eventually("room for the stranger") { (try? client.publish(message)) != nil }
            try await eventually("the broker to have it") { client.state.withLock { $0.inFlightCount == 0 } }
        }

        func close() async { await client.close() }

        func nextWill() -> RelayMessage { RelayMessage(topic: "stranger/gone", bytes: [0]) }
        func connected() {}
        func subscribed() { state.withLock { $0.isListening = true } }
        func received(_ bytes: UnsafeRawBufferPointer, on topic: String) {
            state.withLock { $0.seen.append(RelayMessage(topic: topic, bytes: Array(bytes))) }
        }
        func writable() {}
        func refused(_ reason: String) {}
        func disconnected(_ reason: String) {}
    }
#endif
