#if WebSocket
    import MeshBase
    import NIOCore
    import NIOEmbedded
    import Testing

    @testable import MeshWebSocket

    @Suite struct HTTPServiceTests {
        private static let host = "Host: localhost:8080\r\n"

        private func connection(_ answers: HTTPService.Answers) async throws -> NIOAsyncTestingChannel {
            let channel = try await NIOAsyncTestingChannel { try HTTPService.configure($0, answers) }
            channel.localAddress = try SocketAddress(ipAddress: "127.0.0.1", port: 8080)
            try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
            return channel
        }

        private func connection(
            _ answer: @escaping @Sendable (HTTPService.Request) async -> HTTPService.Response
        ) async throws -> NIOAsyncTestingChannel {
            try await connection(HTTPService.Answers(answer: answer))
        }

        private func send(_ text: String, on channel: NIOAsyncTestingChannel) async throws {
            try await channel.writeInbound(ByteBuffer(string: text))
        }

        private func answer(on channel: NIOAsyncTestingChannel) async throws -> String {
            String(buffer: try await channel.waitForOutboundWrite(as: ByteBuffer.self))
        }

        private func echo(_ request: HTTPService.Request) -> HTTPService.Response {
            .init(status: 200, text: "\(request.path) \(String(decoding: request.body, as: UTF8.self))")
        }

        // MARK: Several requests

        @Test(arguments: [true, false])
        func `A kept connection answers its requests one after another, in order`(usesLoop: Bool) async throws {
            let open = Locked((now: 0, most: 0))
            let channel = try await connection(
                HTTPService.Answers(usesLoop: usesLoop) { request in
                    open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    await Task.yield()
                    open.withLock { $0.now -= 1 }
                    return .init(status: 200, text: request.path)
                })
            let requests = (0..<20).map { "POST /\($0) HTTP/1.1\r\n\(Self.host)Content-Length: 2\r\n\r\nhi" }
            try await send(requests.joined(), on: channel)
            for number in 0..<20 {
                let answer = try await answer(on: channel)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n/\(number)"))
                #expect(!answer.contains("Connection: close"))
            }
            #expect(open.withLock { $0.most } == 1)
            #expect(channel.isActive)
            try await send("GET /last HTTP/1.1\r\n\(Self.host)Connection: close\r\n\r\n", on: channel)
            #expect(try await answer(on: channel).contains("Connection: close"))
            try await channel.closeFuture.get()
        }

        @Test func `A request that comes byte by byte or in chunks is whole`() async throws {
            let channel = try await connection { echo($0) }
            for byte in "POST /a HTTP/1.1\r\n\(Self.host)Content-Length: 5\r\n\r\nhello" {
                try await send(String(byte), on: channel)
            }
            #expect(try await answer(on: channel).hasSuffix("/a hello"))
            try await send(
                "POST /b HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
                on: channel)
            #expect(try await answer(on: channel).hasSuffix("/b hello"))
            _ = try? await channel.finish()
        }

        @Test func `While requests wait, the connection isn't read`() async throws {
            let (gate, opener) = AsyncStream<Void>.makeStream()
            let channel = try await connection { request in
                for await _ in gate {}
                return .init(status: 200, text: request.path)
            }
            let reads = Locked(0)
            try await channel.testingEventLoop.submit {
                try channel.pipeline.syncOperations.addHandler(ReadCounter(reads), position: .first)
            }.get()
            func isRead() async throws -> Bool {
                let before = reads.withLock { $0 }
                try await channel.testingEventLoop.submit { channel.read() }.get()
                return reads.withLock { $0 } > before
            }
            #expect(try await isRead())
            let requests = HTTPService.pipelinedMax + 1
            for number in 0..<requests { try await send("GET /\(number) HTTP/1.1\r\n\(Self.host)\r\n", on: channel) }
            #expect(try await !isRead())
            let before = reads.withLock { $0 }
            opener.finish()
            for number in 0..<requests { #expect(try await answer(on: channel).hasSuffix("/\(number)")) }
            #expect(reads.withLock { $0 } > before)
            _ = try? await channel.finish()
        }

        // MARK: Time

        @Test func `An answer may take longer than a request may`() async throws {
            let (gate, opener) = AsyncStream<Void>.makeStream()
            let (begun, begins) = AsyncStream<Void>.makeStream()
            let channel = try await connection { request in
                begins.finish()
                for await _ in gate {}
                return .init(status: 200, text: request.path)
            }
            try await send("GET /slow HTTP/1.1\r\n\(Self.host)\r\n", on: channel)
            for await _ in begun {}
            await channel.testingEventLoop.advanceTime(by: HTTPService.idleTimeout * 3)
            #expect(channel.isActive)
            opener.finish()
            #expect(try await answer(on: channel).hasSuffix("/slow"))
            _ = try? await channel.finish()
        }

        @Test(arguments: ["GET / HTTP/1.1\r\nHost: here\r\n", "PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf"])
        func `An incomplete request isn't waited for, however slowly it arrives`(half: String) async throws {
            let channel = try await connection { _ in .init(status: 200, text: "") }
            let late = HTTPService.requestTimeout - .seconds(1)
            await channel.testingEventLoop.advanceTime(by: late)
            try await send(half, on: channel)
            await channel.testingEventLoop.advanceTime(by: late)
            try await send("X", on: channel)
            #expect(channel.isActive)
            await channel.testingEventLoop.advanceTime(by: .seconds(1))
            #expect(!channel.isActive)
        }

        @Test func `A connection without a request is closed, sooner before its first one`() async throws {
            let silent = try await connection { _ in .init(status: 200, text: "") }
            await silent.testingEventLoop.advanceTime(by: HTTPService.requestTimeout)
            #expect(!silent.isActive)
            let channel = try await connection { _ in .init(status: 200, text: "") }
            try await send("GET / HTTP/1.1\r\n\(Self.host)\r\n", on: channel)
            _ = try await answer(on: channel)
            await channel.testingEventLoop.advanceTime(by: HTTPService.idleTimeout - .seconds(1))
            #expect(channel.isActive)
            await channel.testingEventLoop.advanceTime(by: .seconds(1))
            #expect(!channel.isActive)
        }

        // MARK: Refusals

        @Test(arguments: [
            ("Host: attacker.example:8080", 421), ("Host: localhost:8080\r\nOrigin: http://attacker.example", 403),
            ("X: no host", 400), ("Host: localhost:8080\r\nHost: localhost:8080", 400),
        ])
        func `A page of another site gets no answer, also on a connection that had one`(
            headers: String, status: Int
        ) async throws {
            let asked = Locked(0)
            let channel = try await connection { _ in
                asked.withLock { $0 += 1 }
                return .init(status: 200, text: "")
            }
            try await send("GET / HTTP/1.1\r\n\(Self.host)\r\n", on: channel)
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 200"))
            try await send("GET / HTTP/1.1\r\n\(headers)\r\n\r\n", on: channel)
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 \(status)"))
            #expect(asked.withLock { $0 } == 1)
            _ = try? await channel.finish()
        }

        @Test(arguments: [
            "POST / HTTP/1.1\r\n\(host)Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 4\r\nContent-Length: 5\r\n\r\nhello",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 4\r\nContent-Length: 4\r\n\r\nhell",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 4, 4\r\n\r\nhell",
            "POST / HTTP/1.1\r\n\(host)Content-Length: +4\r\n\r\nhell",
            "POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 99999999999999999999\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Content-Length : 4\r\n\r\nhell",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0x1\r\nh\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "POST / HTTP/1.1\r\n\(host)X: a\rb\r\n\r\n", "GET / HTTP/1.1\r\n\(host) folded: 1\r\n\r\n",
            "GET / HTTP/9.9\r\n\(host)\r\n", "GET /\0 HTTP/1.1\r\n\(host)\r\n", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}",
        ])
        func `A request that two readers could take for two is refused, and ends the connection`(
            request: String
        ) async throws {
            let channel = try await connection { request in
                if request.path == "/smuggled" { Issue.record("a request was smuggled") }
                return .init(status: 200, text: "answered")
            }
            try? await send(request + "GET /smuggled HTTP/1.1\r\n\(Self.host)\r\n", on: channel)
            let answer = try await answer(on: channel)
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains(#"{"error":{"code":"malformed""#), "\(answer)")
            try await channel.closeFuture.get()
        }

        @Test func `A request of another protocol is answered, and what follows isn't read`() async throws {
            let channel = try await connection { echo($0) }
            try await send("GET /a HTTP/1.1\r\n\(Self.host)Connection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI", on: channel)
            let answer = try await answer(on: channel)
            #expect(answer.hasSuffix("/a ") && answer.contains("Connection: close"))
            try await channel.closeFuture.get()
        }

        @Test func `Headers beyond their limit are refused`() async throws {
            let channel = try await connection { _ in .init(status: 200, text: "") }
            let header = "X: " + String(repeating: "x", count: HTTPService.headerBytesMax) + "\r\n"
            try? await send("GET / HTTP/1.1\r\n\(Self.host)\(header)\r\n", on: channel)
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 431 "))
            try await channel.closeFuture.get()
        }

        @Test(arguments: [true, false])
        func `A body beyond its limit is refused, and the connection goes on`(isChunked: Bool) async throws {
            let channel = try await connection { echo($0) }
            let bytes = HTTPService.bodyBytesMax + 1
            let framing =
                isChunked
                ? "Transfer-Encoding: chunked\r\n\r\n\(String(bytes, radix: 16))\r\n"
                : "Content-Length: \(bytes)\r\n\r\n"
            try await send("PUT / HTTP/1.1\r\n\(Self.host)\(framing)", on: channel)
            try await channel.writeInbound(ByteBuffer(repeating: 0x20, count: bytes))
            if isChunked { try await send("\r\n0\r\n\r\n", on: channel) }
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 413 "))
            try await send("GET /next HTTP/1.1\r\n\(Self.host)\r\n", on: channel)
            #expect(try await answer(on: channel).hasSuffix("/next "))
            _ = try? await channel.finish()
        }

        @Test func `A refused body without an end ends the connection`() async throws {
            let channel = try await connection(
                HTTPService.Answers(
                    refusal: { _ in .init(status: 401, text: "no") },
                    answer: { _ in
                        Issue.record("asked")
                        return .init(status: 200, text: "")
                    }))
            try await send("PUT / HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n", on: channel)
            let chunk = ByteBuffer(string: "100000\r\n" + String(repeating: "x", count: 1 << 20) + "\r\n")
            for _ in 0..<HTTPService.refusedBytesMax >> 20 {
                try await channel.writeInbound(chunk)
                #expect(channel.isActive)
            }
            try await channel.writeInbound(chunk)
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 401 "))
            try await channel.closeFuture.get()
        }

        @Test func `A client that waits for permission to send its body gets it, unless it is refused`() async throws {
            let channel = try await connection(
                HTTPService.Answers(
                    refusal: { $0.path == "/no" ? .init(status: 401, text: "no") : nil }, answer: { echo($0) }))
            let head = " HTTP/1.1\r\n\(Self.host)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            try await send("POST /yes" + head, on: channel)
            #expect(try await answer(on: channel) == "HTTP/1.1 100 Continue\r\n\r\n")
            try await send("hi", on: channel)
            #expect(try await answer(on: channel).hasSuffix("/yes hi"))
            try await send("POST /no" + head + "hi", on: channel)
            #expect(try await answer(on: channel).hasPrefix("HTTP/1.1 401 "))
            _ = try? await channel.finish()
        }
    }

    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private let reads: Locked<Int>

        init(_ reads: Locked<Int>) { self.reads = reads }

        func read(context: ChannelHandlerContext) {
            reads.withLock { $0 += 1 }
            context.read()
        }
    }
#endif
