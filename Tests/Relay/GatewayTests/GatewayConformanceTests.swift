#if WebSocket
    import MeshBus
    import MeshBase
    import MeshDelivery
    import MeshGatewayLab
    import MeshTesting
    import Testing

    @Suite struct GatewayConformanceTests {
        @Test func `The link through a gateway keeps every rule that its lanes promise`() async {
            let report = await TransportConformance.examine(.gateway(), as: "transport.gateway")
            #expect(report.failures == [])
        }
    }
#endif
