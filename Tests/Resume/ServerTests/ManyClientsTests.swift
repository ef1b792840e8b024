#if WebSocket
    import Foundation
    import MeshBase
    import MeshResume
    import MeshResumeGateway
    import MeshWebSocket
    import Testing

    @testable import MeshGatewayServer

    /// The behavior that virtual time shows for many seeds, once over real sockets.
    @Suite struct ManyClientsTests {
        @Test func `1000 clients get every event once and in order, whichever end breaks`() async throws {
            DescriptorLimit.raise(to: 8192)
            let (count, rounds) = (1000, 9)
            let buffer = MemoryReplayBuffer()
            var settings = GatewayServerSettings()
            settings.admission = .unlimited
            settings.socket.connectionsPerAddress = 10_000
            var server = try await GatewayServer.start(settings, app: app, buffer: buffer)
            settings.port = server.port
            let clients = try (0..<count).map { try Client(server, "user \($0)") }
            for client in clients { try await client.waitUntilLive() }
            for round in 1...rounds {
                for user in 0..<count { try await server.publish(event(round), to: "user \(user)") }
                switch round % 3 {
                case 0:
                    await server.crash()
                    server = try await GatewayServer.start(settings, app: app, buffer: buffer)
                case 1: await server.drop { $0 % 3 == round % 2 }
                default: break
                }
                for client in clients { _ = await client.received(round) }
            }
            for (user, client) in clients.enumerated() {
                let numbers = await client.received(rounds)
                #expect(numbers == Array(1...rounds), "user \(user)")
            }
            await withTaskGroup(of: Void.self) { group in
                for client in clients { group.addTask { await client.end() } }
            }
            await server.shutDown()
        }
    }
#endif
