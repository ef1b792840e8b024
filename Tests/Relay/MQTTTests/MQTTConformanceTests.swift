#if MQTT
    import MeshBus
    import MeshBase
    import MeshDelivery
    import MeshMQTTLab
    import MeshTesting
    import Testing

    @Suite(.enabled(if: MosquittoBroker.isInstalled, "needs mosquitto")) struct MQTTConformanceTests {
        @Test func `The link keeps every rule of its lanes over a real Mosquitto`() async throws {
            let report = await TransportConformance.examine(LinkFixture.mqtt(), as: "transport.mqtt")
            #expect(report.failures == [])
        }
    }
#endif
