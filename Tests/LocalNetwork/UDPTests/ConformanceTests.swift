#if UDP
    import MeshBus
    import MeshBase
    import MeshDelivery
    import MeshLocalNetworkLab
    import MeshTesting
    import MeshTransport
    import Testing

    @testable import MeshUDPTransport

    @Suite struct ConformanceTests {
        @Test("The link and the transport over it keep every rule that their lanes promise")
        func rules() async {
            let report = await TransportConformance.examine(LinkFixture.udp, as: "transport.udp")
            for row in report.failures { print("failed: \(row)") }
            #expect(report.failures == [])
            #expect(report.rows.count { $0.outcome == .passed } > 40)
        }
    }
#endif
