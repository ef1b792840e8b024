#if MQTT
    import MeshDelivery
    import MeshMQTTLab
    import MeshSecurity
    import MeshTestSupport
    import Testing

    @testable import MeshMQTTTransport

    @Suite(.enabled(if: MosquittoBroker.isInstalled, "needs mosquitto")) @MainActor struct OwnDevicesTests {
        @Test func `Three devices that were paired as one user's need no invitation at a broker`() async throws {
            let mosquitto = try MosquittoBroker(["allow_anonymous true"])
            let transports = try LinkFixture.configurations((0..<3).map { _ in PeerIdentity() }, mosquitto.broker)
                .map { try MQTTSessionSyncTransport(configuration: $0) }
            for transport in transports { try transport.start() }
            #expect(try await tapsOfOneGroup(over: transports) == [0, 1, 2])
            for transport in transports { await transport.close() }
        }
    }
#endif
