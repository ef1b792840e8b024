#if WebSocket
    import MeshBase
    import MeshResume
    import MeshResumeGateway
    import MeshWebSocket
    import Testing

    @testable import MeshGatewayServer

    /// The guarantees that the cores keep in virtual time, once over real sockets.
    @Suite struct SessionsOverSocketsTests {
        private func start(
            _ buffer: any ReplayBuffer, port: Int = 0, _ change: (inout GatewayServerSettings) -> Void = { _ in }
        ) async throws -> GatewayServer {
            var settings = GatewayServerSettings()
            settings.port = port
            change(&settings)
            return try await GatewayServer.start(settings, app: app, buffer: buffer)
        }

        private func buffer(seed: UInt64) -> MemoryReplayBuffer {
            MemoryReplayBuffer(ReplayLimits(), seed: seed, now: { .zero })
        }

        /// Lets a client that has seen 3 events meet a server whose buffer has 5 others.
        /// - Returns: The events that it gets there.
        private func others(keepsEpoch: Bool) async throws -> (numbers: [Int], fresh: Bool) {
            let store = InMemoryResumeStore()
            let first = try await start(buffer(seed: 1))
            let before = try Client(first, "anna", store)
            try await before.waitUntilLive()
            for number in 1...3 { try await first.publish(event(number), to: "anna") }
            _ = await before.received(3)
            await before.end()
            await first.crash()
            let second = try await start(buffer(seed: keepsEpoch ? 1 : 2))
            for number in 101...105 { try await second.publish(event(number), to: "anna") }
            let after = try Client(second, "anna", store)
            try await after.waitUntilLive()
            try await second.publish(event(106), to: "anna")
            let numbers = await after.received(keepsEpoch ? 3 : 1)
            await after.end()
            await second.shutDown()
            return (numbers, !after.greetings.isEmpty)
        }

        @Test func `K20 over sockets: a server that lost its buffer rejects old cursors, and the client starts over`()
            async throws
        {
            let after = try await others(keepsEpoch: false)
            #expect(after.numbers == [106])
            #expect(after.fresh)
            let faulty = try await others(keepsEpoch: true)
            #expect(faulty.numbers == [104, 105, 106], "within one epoch an old cursor gets other events than its own")
        }

        @Test
        func `K21 over sockets: clients beyond the limit are told when to reconnect, and the others are admitted`()
            async throws
        {
            for (admission, expected) in [
                (GatewayAdmission(perSecond: 0.001, atOnce: 5), 5), (.unlimited, 20),
            ] as [(GatewayAdmission, Int)] {
                let server = try await start(MemoryReplayBuffer()) { $0.admission = admission }
                let ends = try await withThrowingTaskGroup(
                    of: PlainClient.Conversation.self, returning: [PlainClient.Conversation].self
                ) { group in
                    for user in 0..<20 {
                        group.addTask {
                            try await PlainClient.converse(server, PlainClient.identify("\(user)")) {
                                $0.last?.t == "READY"
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(ends.count { $0.frames.last?.t == "READY" } == expected)
                let postponed = ends.filter { $0.frames.map(\.op) == [7] }
                #expect(postponed.count == 20 - expected)
                #expect(postponed.allSatisfy { $0.code == CloseCode.rateLimited.rawValue })
                await server.shutDown()
            }
        }

        @Test func `K22 over sockets: a resume after a resume replays nothing, unless replays move no cursor`()
            async throws
        {
            let server = try await start(MemoryReplayBuffer())
            let (begun, _) = try await PlainClient.converse(server, PlainClient.identify("anna")) { !$0.isEmpty }
            let session = try #require(begun.first?.d?.sessionID)
            for number in 1...5 { try await server.publish(event(number), to: "anna") }
            let (replayed, _) = try await PlainClient.converse(server, PlainClient.resume("anna", session, 2)) {
                $0.count == 4
            }
            #expect(replayed.compactMap(\.s) == [3, 4, 5])
            for (last, expected) in [
                (replayed.compactMap(\.s).last ?? 0, [6]), (2, [3, 4, 5, 6]),
            ] as [(UInt64, [UInt64])] {
                let isFirst = expected.count == 1
                let (again, _) = try await PlainClient.converse(server, PlainClient.resume("anna", session, last)) {
                    if isFirst, $0.count == 1 { try await server.publish(event(6), to: "anna") }
                    return $0.count == expected.count + 1
                }
                #expect(again.compactMap(\.s) == expected)
            }
            await server.shutDown()
        }

        @Test func `The newer of two connections of a session continues, and two sessions of a user both get events`()
            async throws
        {
            let server = try await start(MemoryReplayBuffer())
            let session = Locked("")
            async let older = PlainClient.converse(server, PlainClient.identify("anna")) { frames in
                session.withLock { $0 = frames.first?.d?.sessionID ?? $0 }
                return false
            }
            while session.withLock({ $0.isEmpty }) { await Task.yield() }
            let other = try Client(server, "anna")
            try await other.waitUntilLive()
            let id = session.withLock { $0 }
            let (newer, _) = try await PlainClient.converse(server, PlainClient.resume("anna", id, 0)) { frames in
                if frames.count == 1 { try await server.publish(event(1), to: "anna") }
                return frames.count == 2
            }
            #expect(newer.compactMap(\.s) == [1])
            let olderCode = try await older.code
            #expect(olderCode == CloseCode.sessionTimedOut.rawValue)
            #expect(await other.received(1) == [1])
            await other.end()
            await server.shutDown()
        }

        /// - Returns: The maximum number of bytes that waited for a client that doesn't read, and the closes by code.
        private func slowClient(unsentBytesMax: Int) async throws -> (most: Int, closed: [UInt16: Int]) {
            let buffer = MemoryReplayBuffer(ReplayLimits(count: 2000, bytes: 128 << 20))
            let server = try await start(buffer) {
                $0.connection.unsentBytesMax = unsentBytesMax
                $0.connection.pageEntries = 2
                $0.connection.stallTimeout = .seconds(1)
            }
            let socket = try await RawSocket(server, reads: false)
            socket.send(Array(RawSocket.upgrade(server).utf8))
            socket.send(RawSocket.frame(0x81, Array(PlainClient.identify("anna").utf8)))
            while await server.counts().handshakes == 0 { await Task.yield() }
            let large = try ReplayEvent(type: "LARGE", json: Array("\"\(String(repeating: "x", count: 60_000))\"".utf8))
            var most = 0
            // More than the system's buffers hold.
            for _ in 0..<500 {
                try await server.publish(large, to: "anna")
                most = max(most, await server.counts().unsentBytes)
            }
            while await server.counts().closed.isEmpty, most <= 1 << 20 {
                most = max(most, await server.counts().unsentBytes)
                await Task.yield()
            }
            let closed = await server.counts().closed
            socket.close()
            await server.shutDown()
            return (most, closed)
        }

        @Test func `A client that reads nothing costs a bounded memory, and is closed resumably`() async throws {
            let bound = 256 << 10
            let slow = try await slowClient(unsentBytesMax: bound)
            #expect(slow.most <= bound + 3 * 61_000)
            #expect(slow.closed == [CloseCode.unknownError.rawValue: 1])
            #expect(!CloseCode.unknownError.isFatal)
            let faulty = try await slowClient(unsentBytesMax: .max)
            #expect(faulty.most > 1 << 20)
        }

        // MARK: The client

        @Test(arguments: FrameEncoding.allCases)
        func `A client gets the same events and Ready fields in either encoding`(encoding: FrameEncoding) async throws {
            struct Ready: Decodable { let user: String, platform: String }
            let greeting = GatewayApp(
                authenticate: { token, _ in token },
                ready: { user, properties in
                    try ReadyFields(["user": user, "platform": properties.platform])
                })
            let server = try await GatewayServer.start(app: greeting, buffer: MemoryReplayBuffer())
            let client = try Client(server, "anna", InMemoryResumeStore(), [encoding])
            try await client.waitUntilLive()
            for number in 1...20 { try await server.publish(event(number), to: "anna") }
            #expect(await client.received(20) == Array(1...20))
            let ready = try #require(client.greetings.first).payload(as: Ready.self)
            #expect(ready.user == "anna")
            #expect(ready.platform == ClientProperties.current.platform)
            await client.end()
            await server.shutDown()
        }

        @Test func `If the app can't provide the Ready fields, its client reconnects`() async throws {
            struct Failure: Error {}
            let tries = Locked(0)
            let failing = GatewayApp(
                authenticate: { token, _ in token },
                ready: { _, _ in
                    let isFirst = tries.withLock { tries in
                        tries += 1
                        return tries == 1
                    }
                    if isFirst { throw Failure() }
                    return .none
                })
            let server = try await GatewayServer.start(app: failing, buffer: MemoryReplayBuffer())
            let client = try Client(server, "anna")
            try await client.waitUntilLive()
            #expect(tries.withLock { $0 } == 2)
            await client.end()
            await server.shutDown()
        }

        @Test func `A user disconnected by the app is disconnected at every gateway`() async throws {
            let isBanned = Locked(false)
            let app = GatewayApp(users: { token, _ in
                token == "anna" && isBanned.withLock { $0 } ? nil : GatewayUser(token)
            })
            let buffer = MemoryReplayBuffer()
            var servers: [GatewayServer] = []
            for _ in 0..<3 { servers.append(try await GatewayServer.start(app: app, buffer: buffer)) }
            let clients = try servers.map { try Client($0, "anna") }
            let other = try Client(servers[0], "bert")
            for client in clients + [other] { try await client.waitUntilLive() }
            isBanned.withLock { $0 = true }
            try await servers[0].disconnect(user: "anna")
            for (server, client) in zip(servers, clients) {
                #expect(await client.runs.value == .authenticationFailed)
                #expect(await server.counts().closed[CloseCode.disconnected.rawValue] == 1)
            }
            try await servers[1].publish(event(1), to: "bert")
            #expect(await other.received(1) == [1])
            await other.end()
            for server in servers { await server.shutDown() }
        }

        @Test func `The subprotocol is the best common one, and none if none is offered`() async throws {
            let server = try await start(MemoryReplayBuffer())
            let (binary, json) = (FrameEncoding.binary.subprotocol, FrameEncoding.json.subprotocol)
            for (offered, agreed) in [
                ([json, binary], binary), ([json], json), (["chat", binary], binary), (["chat"], nil), ([], nil),
            ] as [([String], String?)] {
                let socket = try await WebSocketDialer.connect(
                    WebSocketAddress("ws://127.0.0.1:\(server.port)/"), protocols: offered)
                #expect(socket.subprotocol == agreed, "\(offered)")
                var code: UInt16?
                // The kind of frame that was not agreed on.
                socket.send([1], isText: agreed == binary)
                await socket.read { if case .closed(let received) = $0 { code = received } }
                #expect(code == CloseCode.decodeError.rawValue)
            }
            await server.shutDown()
        }

        @Test func `An app that never answers about a token blocks neither the next attempt nor the end`() async throws
        {
            let server = try await start(MemoryReplayBuffer())
            let asked = Locked(0)
            let client = try Client(server, handshakeTimeout: 0.05) {
                let count = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                if count <= 3 { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
                return "anna"
            }
            try await client.waitUntilLive()
            #expect(asked.withLock { $0 } >= 4)
            await client.end()
            let silent = try Client(server) {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                return nil
            }
            while await server.counts().accepted < asked.withLock({ $0 }) + 1 { await Task.yield() }
            await silent.end()
            #expect(await silent.runs.value == nil)
            await server.shutDown()
        }
    }
#endif
