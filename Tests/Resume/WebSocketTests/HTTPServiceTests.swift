#if WebSocket
    import MeshBase
    import NIOCore
    import NIOEmbedded
    import Testing

    @testable import MeshWebSocket

    @Suite struct HTTPServiceTests {
        private func connection(
            _ answer: @escaping @Sendable (HTTPService.Request) async -> HTTPService.Response
        ) async throws -> NIOAsyncTestingChannel {
            let channel = try await NIOAsyncTestingChannel { try HTTPService.configure($0, answer: answer) }
            channel.localAddress = try SocketAddress(ipAddress: "127.0.0.1", port: 8080)
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
            return channel
        }

        private func whatIsSent(on channel: NIOAsyncTestingChannel) async throws -> String {
            try await channel.waitForOutboundWrite(as: ByteBuffer.self).getString(at: 0, length: 12) ?? ""
        }

        @Test func `An answer may take longer than a request may`() async throws {
            let (gate, opener) = AsyncStream<Void>.makeStream()
            let (begun, begins) = AsyncStream<Void>.makeStream()
            let paths = Locked<[String]>([])
            let channel = try await connection { request in
                paths.withLock { $0.append(request.path) }
                begins.finish()
                for await _ in gate {}
                return .init(status: 200, text: request.path)
            }
            try await channel.writeInbound(ByteBuffer(string: "GET /slow HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"))
            for await _ in begun {}
            await channel.testingEventLoop.advanceTime(by: HTTPService.requestTimeout * 6)
            #expect(channel.isActive)
            // A second request on the same connection is ignored.
            try await channel.writeInbound(ByteBuffer(string: "GET /second HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"))
            opener.finish()
            #expect(try await whatIsSent(on: channel) == "HTTP/1.1 200")
            #expect(paths.withLock { $0 } == ["/slow"])
            _ = try? await channel.finish()
        }

        @Test(arguments: [
            ("Host: attacker.example:8080", "HTTP/1.1 421"),
            ("Host: localhost:8080\r\nOrigin: http://attacker.example", "HTTP/1.1 403"), ("X: no host", "HTTP/1.1 400"),
        ])
        func `A page of another site gets no answer`(headers: String, status: String) async throws {
            let channel = try await connection { _ in
                Issue.record("asked")
                return .init(status: 200, text: "")
            }
            try await channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\(headers)\r\n\r\n"))
            #expect(try await whatIsSent(on: channel) == status)
            _ = try? await channel.finish()
        }

        @Test(arguments: ["", "GET / HTTP/1.1\r\nHost: here\r\n", "PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf"])
        func `An incomplete request isn't waited for`(half: String) async throws {
            let channel = try await connection { _ in .init(status: 200, text: "") }
            await channel.testingEventLoop.advanceTime(by: HTTPService.requestTimeout - .seconds(1))
            try await channel.writeInbound(ByteBuffer(string: half))
            #expect(channel.isActive)
            await channel.testingEventLoop.advanceTime(by: .seconds(1))
            #expect(!channel.isActive)
        }

        @Test func `A request beyond its limit ends the connection`() async throws {
            let channel = try await connection { _ in .init(status: 200, text: "") }
            let bytes = HTTPService.bodyBytesMax + 1
            let head = ByteBuffer(string: "PUT / HTTP/1.1\r\nContent-Length: \(bytes)\r\n\r\n")
            try await channel.writeInbound(head)
            try await channel.writeInbound(ByteBuffer(repeating: 0, count: bytes))
            #expect(!channel.isActive)
        }
    }
#endif
