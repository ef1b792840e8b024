#if WebSocket
    import Foundation

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif
    import MeshBase
    import MeshResume
    import MeshResumeGateway
    import MeshResumeWebSocket
    import MeshWebSocket
    import Testing

    @testable import MeshGatewayServer

    /// A server on real sockets, on loopback.
    @Suite struct GatewayServerTests {
        @Test func `A client gets published events live and in order`() async throws {
            try await withServer { server, _ in
                let client = try Client(server, "anna")
                try await client.waitUntilLive()
                for number in 1...100 { try await server.publish(event(number), to: "anna") }
                #expect(await client.received(100) == Array(1...100))
                #expect(client.receptions == [.live])
                await client.end()
            }
        }

        @Test func `A returning client gets exactly the missed events, replayed`() async throws {
            try await withServer { server, _ in
                let store = InMemoryResumeStore()
                let first = try Client(server, "anna", store)
                try await first.waitUntilLive()
                for number in 1...10 { try await server.publish(event(number), to: "anna") }
                #expect(await first.received(10) == Array(1...10))
                await first.end()
                for number in 11...250 { try await server.publish(event(number), to: "anna") }
                try await server.publish(event(1), to: "bernd")
                let second = try Client(server, "anna", store)
                #expect(await second.received(240) == Array(11...250))
                #expect(second.receptions == [.replayed])
                await second.end()
            }
        }

        @Test func `An event for which the app's closure throws is repeated before later events`() async throws {
            try await withServer { server, _ in
                let calls = Locked<[String]>([])
                let (arrivals, continuation) = AsyncStream<Int>.makeStream()
                let client = try ResumeWebSocketClient(
                    "ws://127.0.0.1:\(server.port)/", store: InMemoryResumeStore(), token: { "anna" },
                    clientProperties: .current,
                    policy: ReconnectPolicy(from: .milliseconds(20), to: .milliseconds(200)),
                    ready: { _ in
                        let isFirst = calls.withLock { calls in
                            calls.append("ready")
                            return calls.count == 1
                        }
                        if isFirst { throw CancellationError() }
                    },
                    handle: { message in
                        let number = try message.frame.payload(as: Int.self)
                        let isFirst = calls.withLock { calls in
                            defer { calls.append("\(number)") }
                            return !calls.contains("\(number)")
                        }
                        if number == 2, isFirst { throw CancellationError() }
                        continuation.yield(number)
                    })
                let run = Task { await client.run() }
                for await event in client.coordinator.events { if case .stateChanged(.live) = event { break } }
                for number in 1...3 { try await server.publish(event(number), to: "anna") }
                var taken: [Int] = []
                for await number in arrivals {
                    taken.append(number)
                    if taken.count == 3 { break }
                }
                #expect(taken == [1, 2, 3])
                #expect(calls.withLock { $0 } == ["ready", "ready", "1", "2", "2", "3"])
                run.cancel()
                _ = await run.value
            }
        }

        @Test func `A rejected token ends the client for good`() async throws {
            try await withServer { server, _ in
                let client = try Client(server, "")
                #expect(await client.runs.value == .authenticationFailed)
            }
        }

        @Test func `A stopping gateway tells its clients when to reconnect, and they resume`() async throws {
            let buffer = MemoryReplayBuffer()
            var settings = GatewayServerSettings()
            settings.shutdownSpread = .milliseconds(10)
            let first = try await GatewayServer.start(settings, app: app, buffer: buffer)
            settings.port = first.port
            let client = try Client(first, "anna")
            try await client.waitUntilLive()
            try await first.publish(event(1), to: "anna")
            #expect(await client.received(1) == [1])
            await first.shutDown()
            let second = try await GatewayServer.start(settings, app: app, buffer: buffer)
            try await second.publish(event(2), to: "anna")
            #expect(await client.received(2) == [1, 2])
            await client.end()
            await second.shutDown()
        }

        @Test func `Each call of shutDown returns, although another one is waiting too`() async throws {
            var settings = GatewayServerSettings()
            settings.socket.closeTimeout = .milliseconds(200)
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            // This client doesn't answer the close frame.
            let socket = try await RawSocket(server)
            socket.send(Array(RawSocket.upgrade(server).utf8))
            while await server.counts().accepted < 1 { await Task.yield() }
            async let first: Void = server.shutDown()
            async let second: Void = server.shutDown()
            _ = await (first, second)
            #expect(await server.counts().connections == 0)
            socket.close()
        }

        @Test func `A flooding client, and one that doesn't send JSON, are each closed with their code`() async throws {
            try await withServer { server, _ in
                let cases: [([String], UInt16)] = [
                    (Array(repeating: #"{"op":1,"d":null}"#, count: 130), 4008), (["hello"], 4002),
                    ([#"{"op":5}"#], 4001), ([String(repeating: "x", count: 5000)], 4002),
                    ([#"{"op":2,"d":{"token":""}}"#], 4004),
                ]
                for (frames, expected) in cases {
                    let code = try await closeCode(server, frames)
                    #expect(code == expected)
                }
                let counts = await server.counts()
                #expect(counts.accepted == 5)
                #expect(counts.text.contains(#"sessionmesh_gateway_closed_total{code="4002"} 2"#))
            }
        }

        @Test func `An address has a limited number of sockets`() async throws {
            var settings = GatewayServerSettings()
            settings.socket.connectionsPerAddress = 2
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            let address = try WebSocketAddress("ws://127.0.0.1:\(server.port)")
            let sockets = [try await WebSocketDialer.connect(address), try await WebSocketDialer.connect(address)]
            await #expect(throws: WebSocketError.self) { try await WebSocketDialer.connect(address) }
            for socket in sockets { socket.drop() }
            await server.shutDown()
        }

        private func post(
            _ server: GatewayServer, _ path: String, _ headers: [String: String] = [:], _ body: String = "1"
        ) async throws -> Int {
            var request = URLRequest(
                url: try #require(URL(string: "http://127.0.0.1:\(server.metricsPort ?? 0)\(path)")))
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            let (_, response) = try await URLSession.shared.data(for: request)
            return (response as? HTTPURLResponse)?.statusCode ?? 0
        }

        @Test func `Events can be published over HTTP only with the token`() async throws {
            var settings = GatewayServerSettings()
            settings.metricsPort = 0
            let closed = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            #expect(try await post(closed, "/publish/anna/E", ["Authorization": "Bearer "]) == 404)
            await closed.shutDown()
            settings.publishToken = "a token of its own"
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            let right = ["Authorization": "Bearer a token of its own"]
            for wrong in [[:], ["Authorization": "Bearer "], ["Authorization": "Bearer a token of its owm"]] {
                #expect(try await post(server, "/publish/anna/E", wrong) == 401)
            }
            let foreign = right.merging(["Origin": "http://attacker.example"]) { $1 }
            #expect(try await post(server, "/publish/anna/E", foreign) == 403)
            #expect(await server.counts().published == 0)
            #expect(try await post(server, "/publish/anna/E", right) == 200)
            #expect(try await post(server, "/publish/anna/E", right, "{") == 400)
            #expect(try await post(server, "/disconnect/anna%20b", right) == 200)
            #expect(try await post(server, "/disconnect/anna", [:]) == 401)
            #expect(await server.counts().published == 1)
            await server.shutDown()
        }

        @Test func `Settings that can't be used are refused, and the message names them`() async throws {
            func message(_ change: (inout GatewayServerSettings) -> Void) async throws -> String? {
                var settings = GatewayServerSettings()
                change(&settings)
                do {
                    let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
                    await server.shutDown()
                    return nil
                } catch let error as WebSocketError {
                    #expect(error.code == .invalidSettings)
                    return error.message
                }
            }
            for port in [99_999, 65_536, -1] {
                #expect(try await message { $0.port = port } == "port \(port) is outside 0 to 65535")
                #expect(try await message { $0.metricsPort = port } == "port \(port) is outside 0 to 65535")
            }
            #expect(try await message { $0.publishToken = "short" } == "publishToken must have at least 16 bytes")
            #expect(try await message { $0.socket.connectionsMax = 1 } == nil)
        }

        @Test func `A store's error is reported to the operator, not to the client`() async throws {
            var settings = GatewayServerSettings()
            let problems = Locked<[GatewayProblem]>([])
            settings.onProblem = { problem in problems.withLock { $0.append(problem) } }
            let server = try await GatewayServer.start(settings, app: app, buffer: DownBuffer())
            let socket = try await WebSocketDialer.connect(WebSocketAddress("ws://127.0.0.1:\(server.port)/"))
            socket.send(text: Array(PlainClient.identify("anna").utf8))
            var said = ""
            await socket.read { if case .text(let bytes) = $0 { said += String(decoding: bytes, as: UTF8.self) } }
            #expect(said.contains(#""reason":"temporarily unavailable""#))
            #expect(!said.contains("10.0.0.7"), "\(said)")
            #expect(problems.withLock { $0.map(\.source) } == [.events])
            #expect(problems.withLock { $0.allSatisfy { $0.cause.contains("10.0.0.7") } })
            let text = await server.counts().text
            #expect(text.contains(#"sessionmesh_gateway_unanswered_total{source="events"} 1"#))
            #expect(!text.contains("10.0.0.7"))
            await server.shutDown()
        }

        @Test func `Unencrypted connections are served on this machine only`() async throws {
            var settings = GatewayServerSettings()
            settings.host = "0.0.0.0"
            await #expect(throws: WebSocketError.self) {
                try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            }
            #expect(throws: WebSocketError.self) { try WebSocketAddress("ws://example.org/") }
            #expect(throws: WebSocketError.self) { try WebSocketAddress("ws://127.0.0.1.example.org/") }
            #expect(try WebSocketAddress("wss://example.org").port == 443)
        }
    }

    /// A failing buffer whose errors contain its address.
    private struct DownBuffer: ReplayBuffer {
        private static let error = ReplayBufferError(.unavailable, "redis://10.0.0.7:6379/0: refused")

        func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition { throw Self.error }
        func standing(of stream: String) async throws -> ReplayStanding { throw Self.error }
        func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            throw Self.error
        }
        func notices() -> AsyncStream<ReplayNotice> { AsyncStream { $0.finish() } }
    }

    let app = GatewayApp { token, _ in token.isEmpty ? nil : token }

    func event(_ number: Int) throws -> ReplayEvent { try ReplayEvent(type: "NUMBER", json: Array("\(number)".utf8)) }

    func withServer(_ body: (GatewayServer, MemoryReplayBuffer) async throws -> Void) async throws {
        let buffer = MemoryReplayBuffer()
        let server = try await GatewayServer.start(app: app, buffer: buffer)
        do { try await body(server, buffer) } catch {
            await server.shutDown()
            throw error
        }
        await server.shutDown()
    }

    /// Returns the close code with which the server answers these frames.
    func closeCode(_ server: GatewayServer, _ frames: [String]) async throws -> UInt16? {
        let socket = try await WebSocketDialer.connect(WebSocketAddress("ws://127.0.0.1:\(server.port)/"))
        for frame in frames { socket.send(text: Array(frame.utf8)) }
        var code: UInt16?
        await socket.read { if case .closed(let received) = $0 { code = received } }
        return code
    }

    /// A client that records what it receives.
    final class Client: Sendable {
        private let client: ResumeWebSocketClient
        private let state = Locked<(numbers: [Int], receptions: Set<Reception>)>(([], []))
        private let readies = Locked<[ServerFrame]>([])
        private let arrivals: AsyncStream<Int>
        let runs: Task<CloseCode?, Never>

        convenience init(
            _ server: GatewayServer, _ token: String, _ store: any ResumeStore = InMemoryResumeStore(),
            _ encodings: [FrameEncoding] = [.binary, .json]
        ) throws {
            try self.init(server, store, encodings) { token }
        }

        init(
            _ server: GatewayServer, _ store: any ResumeStore = InMemoryResumeStore(),
            _ encodings: [FrameEncoding] = [.binary, .json], handshakeTimeout: Double = 30,
            token: @escaping @Sendable () async -> String?
        ) throws {
            let (arrivals, continuation) = AsyncStream<Int>.makeStream()
            self.arrivals = arrivals
            let (state, readies) = (state, readies)
            let client = try ResumeWebSocketClient(
                "ws://127.0.0.1:\(server.port)/", store: store, token: token, clientProperties: .current,
                configuration: .init(
                    handshakeTimeout: handshakeTimeout, sequencing: .contiguous, acknowledgement: .byApp),
                policy: ReconnectPolicy(from: .milliseconds(20), to: .milliseconds(200)), encodings: encodings,
                ready: { frame in readies.withLock { $0.append(frame) } },
                handle: { message in
                    let number = try message.frame.payload(as: Int.self)
                    state.withLock { state in
                        state.numbers.append(number)
                        state.receptions.insert(message.reception)
                    }
                    continuation.yield(number)
                })
            self.client = client
            runs = Task { await client.run() }
        }

        /// The READY of each session that has begun.
        var greetings: [ServerFrame] { readies.withLock { $0 } }
        var receptions: Set<Reception> { state.withLock { $0.receptions } }

        func waitUntilLive() async throws {
            for await event in client.coordinator.events { if case .stateChanged(.live) = event { return } }
        }

        /// Returns all received numbers, once there are at least `count`.
        func received(_ count: Int) async -> [Int] {
            var numbers = state.withLock { $0.numbers }
            guard numbers.count < count else { return numbers }
            for await _ in arrivals {
                numbers = state.withLock { $0.numbers }
                if numbers.count >= count { break }
            }
            return numbers
        }

        func end() async {
            runs.cancel()
            _ = await runs.value
        }
    }
#endif
