#if WebSocket
    import MeshGatewayLab
    import MeshSecurity
    import MeshTestSupport
    import Testing

    @testable import MeshGatewayTransport

    @MainActor struct OwnDevicesTests {
        @Test func `Three devices that were paired as one user's need no invitation at a gateway`() async throws {
            let gateway = try await LabGateway.start(framesPerSecond: 1_000)
            let transports = try gateway.configurations((0..<3).map { _ in PeerIdentity() })
                .map { try GatewaySessionSyncTransport(configuration: $0) }
            for transport in transports { try transport.start() }
            #expect(try await tapsOfOneGroup(over: transports) == [0, 1, 2])
            for transport in transports { await transport.close() }
        }
    }
#endif
