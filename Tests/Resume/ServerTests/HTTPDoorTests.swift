#if WebSocket
    import Foundation
    import MeshBase
    import MeshResumeGateway
    import Testing

    @testable import MeshGatewayServer

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Publishing over HTTP, on real sockets.
    @Suite struct HTTPDoorTests {
        private typealias Answer = (status: Int, text: String)

        private func withDoor(
            _ buffer: any ReplayBuffer = MemoryReplayBuffer(), _ body: (GatewayServer) async throws -> Void
        ) async throws {
            var settings = GatewayServerSettings()
            settings.metricsPort = 0
            settings.publishToken = "a token of its own"
            let server = try await GatewayServer.start(settings, app: app, buffer: buffer)
            do { try await body(server) } catch {
                await server.shutDown()
                throw error
            }
            await server.shutDown()
        }

        private func post(
            _ server: GatewayServer, _ path: String, _ body: String, key: String? = nil, method: String = "POST"
        ) async throws -> Answer {
            var request = URLRequest(
                url: try #require(URL(string: "http://127.0.0.1:\(server.metricsPort ?? 0)\(path)")))
            request.httpMethod = method
            if method == "POST" { request.httpBody = Data(body.utf8) }
            request.setValue("Bearer a token of its own", forHTTPHeaderField: "Authorization")
            if let key { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
            let (data, response) = try await URLSession.shared.data(for: request)
            return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
        }

        private func events(_ buffer: MemoryReplayBuffer, of user: String) async -> [String] {
            let standing = await buffer.standing(of: user)
            let start = ReplayPosition(epoch: standing.epoch, sequence: 0)
            guard case .entries(let entries, _) = await buffer.page(of: user, after: start, limit: 10_000) else {
                return []
            }
            return entries.map { "\($0.event.type) \(String(decoding: $0.event.json, as: UTF8.self))" }
        }

        @Test func `A request publishes many events, each user's in order and with its bytes`() async throws {
            let buffer = MemoryReplayBuffer()
            try await withDoor(buffer) { server in
                let body = (0..<200).map { #"{"user":"u\#($0 % 40)","data":{"n": \#($0)},"type":"E"}"# }
                let answer = try await post(server, "/publish", "[" + body.joined(separator: ",") + "]")
                #expect(answer.status == 200)
                let numbers = (0..<200).map { "\($0 / 40 + 1)" }.joined(separator: ",")
                #expect(answer.text == "{\"s\":[\(numbers)]}\n")
                for user in 0..<40 {
                    let expected = (0..<5).map { #"E {"n": \#(user + $0 * 40)}"# }
                    #expect(await events(buffer, of: "u\(user)") == expected)
                }
                #expect(await server.counts().published == 200)
                #expect(try await post(server, "/publish", "[]") == (200, "{\"s\":[]}\n"))
            }
        }

        @Test(arguments: [
            (#"{"user":"anna","type":"E","data":1}"#, "event 0: the body must be JSON"),
            (#"[{"user":"anna","type":"E","data":1},{"user":"anna","type":"E"}]"#, "event 1: the body must be JSON"),
            (#"[{"user":"anna","type":"E","data":1,"extra":1}]"#, "event 0: the body must be JSON"),
            (#"[{"user":"anna","user":"bob","type":"E","data":1}]"#, "event 0: the body must be JSON"),
            (#"[{"user":"anna","type":"E","data":1}"#, "event 1: the body must be JSON"),
            (#"[{"user":"anna","type":"E","data":1}] 1"#, "event 1: the body must be JSON"),
            (#"[{"user":"anna","type":"READY","data":1}]"#, "event 0: 'READY' isn't a valid event name"),
            (#"[{"user":"","type":"E","data":1}]"#, "event 0: a user's name has 1 to 1024 bytes"),
            (
                "[" + Array(repeating: #"{"user":"anna","type":"E","data":1}"#, count: 1001).joined(separator: ",")
                    + "]",
                "a request has at most 1000 events"
            ),
        ])
        func `A batch with one wrong event publishes none, and the answer names it`(
            body: String, message: String
        ) async throws {
            let buffer = MemoryReplayBuffer()
            try await withDoor(buffer) { server in
                let answer = try await post(server, "/publish", body)
                #expect(answer.status == 400)
                #expect(answer.text.contains(message), "\(answer.text)")
                #expect(try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) is [String: Any])
                #expect(await events(buffer, of: "anna").isEmpty)
            }
        }

        @Test func `A repeated key returns the first answer, and appends nothing`() async throws {
            let buffer = MemoryReplayBuffer()
            try await withDoor(buffer) { server in
                for _ in 0..<3 {
                    #expect(try await post(server, "/publish/anna/E", "1", key: "k") == (200, "{\"s\":1}\n"))
                }
                #expect(try await post(server, "/publish/anna/E", "1", key: "k2") == (200, "{\"s\":2}\n"))
                for (path, body) in [("/publish/anna/E", "2"), ("/publish/bob/E", "1")] {
                    let answer = try await post(server, path, body, key: "k")
                    #expect(answer.status == 422 && answer.text.contains(#""code":"keyReused""#))
                }
                #expect(try await post(server, "/publish/anna/E", "1", key: "a b").status == 400)
                #expect(await events(buffer, of: "anna") == ["E 1", "E 1"])
                #expect(await server.counts().published == 2)
            }
        }

        @Test func `A repeated batch appends only what the first one couldn't`() async throws {
            let buffer = FailingBuffer()
            try await withDoor(buffer) { server in
                let body =
                    "[" + (1...5).map { #"{"user":"anna","type":"E","data":\#($0)}"# }.joined(separator: ",") + "]"
                buffer.failing.withLock { $0 = 3 }
                let failed = try await post(server, "/publish", body, key: "k")
                #expect(failed.status == 503)
                #expect(
                    failed.text.contains(#""code":"unavailable""#)
                        && failed.text.hasSuffix("\"s\":[1,2,null,null,null]}\n"))
                #expect(!failed.text.contains("10.0.0.7"))
                #expect(try await post(server, "/publish", body, key: "k") == (200, "{\"s\":[1,2,3,4,5]}\n"))
                #expect(await events(buffer.memory, of: "anna") == (1...5).map { "E \($0)" })
            }
        }

        @Test func `The parts of a path may be escaped, and a query is ignored`() async throws {
            let buffer = MemoryReplayBuffer()
            try await withDoor(buffer) { server in
                let answer = try await post(server, "//publish/an%2Fn%C3%A4/E/?a=/b", "1")
                #expect(answer == (200, "{\"s\":1}\n"))
                #expect(await events(buffer, of: "an/nä") == ["E 1"])
            }
        }

        @Test func `Errors say what to do`() async throws {
            try await withDoor { server in
                #expect(try await post(server, "/elsewhere", "1").status == 404)
                let wrong = try await post(server, "/publish/anna/E", "", method: "GET")
                #expect(wrong.status == 405 && wrong.text.contains("use POST"))
                #expect(try await post(server, "/metrics", "1").status == 405)
                let large = try await post(
                    server, "/publish/anna/E", "\"" + String(repeating: "x", count: 300_000) + "\"")
                #expect(large.status == 413 && large.text.contains("tooLarge"))
                let reserved = try await post(server, "/publish/sessionmesh%2Fdisconnected/DISCONNECTED", "1")
                #expect(reserved.status == 400 && reserved.text.contains("invalidUser"), "\(reserved)")
            }
        }
    }

    /// A buffer in memory of which one append fails.
    private final class FailingBuffer: ReplayBuffer {
        let memory = MemoryReplayBuffer()
        /// The number of the append that fails, from 1; 0 for none.
        let failing = Locked(0)

        func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
            let fails = failing.withLock { number in
                number -= 1
                return number == 0
            }
            if fails { throw ReplayBufferError(.unavailable, "redis://10.0.0.7:6379/0: refused") }
            return await memory.append(event, to: stream)
        }
        func standing(of stream: String) async throws -> ReplayStanding { await memory.standing(of: stream) }
        func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
            await memory.page(of: stream, after: position, limit: limit)
        }
        func notices() -> AsyncStream<ReplayNotice> { memory.notices() }
    }
#endif
