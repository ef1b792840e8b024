#if UDP
    import MeshDiscovery
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshUDPTransport
    import Testing

    @MainActor struct OwnDevicesTests {
        @Test func `Three devices that were paired as one user's need no invitation on the local network`() async throws
        {
            let network = InMemoryNetwork()
            let transports = try network.configurations((0..<3).map { _ in PeerIdentity() })
                .map { try UDPSessionSyncTransport(configuration: $0) }
            for transport in transports { try transport.start() }
            #expect(try await tapsOfOneGroup(over: transports) == [0, 1, 2])
            for transport in transports { await transport.close() }
        }
    }
#endif
