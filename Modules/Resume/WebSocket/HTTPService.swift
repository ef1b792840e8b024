#if WebSocket
    package import NIOCore
    import NIOHTTP1
    import NIOPosix

    /// A small HTTP/1.1 server on loopback for operators and backends, for example for metrics, health and publishing.
    ///
    /// Connections are persistent, and clients may pipeline requests. The requests of one connection are answered one
    /// after another, in order. Requests from pages of other sites are refused (403), and so are requests for another
    /// host name (421). A request that is malformed, or that two parsers could read differently, is refused (400), and
    /// its connection is closed (RFC 9112, 11.2).
    package final class HTTPService: Sendable {
        package struct Request: Sendable {
            package let method: String
            package let path: String
            /// The value of the header `Authorization`; nil without one, or with several.
            package let authorization: String?
            /// The values of the header `Idempotency-Key`.
            package let idempotencyKeys: [String]
            package internal(set) var body: [UInt8] = []
        }

        package struct Response: Sendable {
            package let status: Int
            package let text: String
            /// Headers in addition to Content-Type, Content-Length and Connection.
            let headers: [(name: String, value: String)]
            let type: String

            package init(
                status: Int, text: String, type: String = "text/plain; version=0.0.4",
                headers: [(name: String, value: String)] = []
            ) {
                (self.status, self.text, self.type, self.headers) = (status, text, type, headers)
            }
        }

        /// The functions of a service.
        package struct Answers: Sendable {
            /// Called on the event loop with a request's head, before its body is read. Returns the refusal; nil to accept.
            let refusal: @Sendable (Request) -> Response?
            /// Answers a request that was accepted. May take any time.
            let answer: @Sendable (Request) async -> Response
            /// True if `answer` runs on the event loop. Then it must be short, and wait only by `await`.
            let usesLoop: Bool

            package init(
                usesLoop: Bool = false, refusal: @escaping @Sendable (Request) -> Response? = { _ in nil },
                answer: @escaping @Sendable (Request) async -> Response
            ) {
                (self.usesLoop, self.refusal, self.answer) = (usesLoop, refusal, answer)
            }
        }

        /// Maximum number of bytes per body.
        static let bodyBytesMax = 256 << 10
        /// Maximum number of bytes of a refused request's body that are read, so that its client gets the answer.
        static let refusedBytesMax = 4 << 20
        /// Maximum number of bytes of the headers of a request.
        static let headerBytesMax = 16 << 10
        /// Maximum number of connections.
        static let connectionsMax = 256
        /// Number of waiting requests at which the server stops reading from their connection.
        static let pipelinedMax = 16
        /// Maximum time for a client to send a request, and to receive an answer.
        static let requestTimeout = TimeAmount.seconds(10)
        /// Maximum time between two requests.
        static let idleTimeout = TimeAmount.seconds(60)
        private let channel: any Channel

        package var port: Int { channel.localAddress?.port ?? 0 }

        private init(_ channel: any Channel) { self.channel = channel }

        package static func start(
            port: Int, on loop: any EventLoop, _ answers: Answers
        ) async throws(WebSocketError) -> HTTPService {
            try WebSocketError.require(port: port)
            do {
                let count = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
                let channel = try await ServerBootstrap(group: loop, childGroup: loop)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                    // One read at a time, so that a connection that isn't read holds the bytes of at most one read.
                    .childChannelOption(.maxMessagesPerRead, value: 1)
                    .childChannelInitializer { channel in
                        guard count.value < connectionsMax else { return channel.close() }
                        count.value += 1
                        channel.closeFuture.whenComplete { _ in count.value -= 1 }
                        return channel.eventLoop.makeCompletedFuture { try configure(channel, answers) }
                    }
                    .bind(host: "127.0.0.1", port: port).get()
                return HTTPService(channel)
            } catch {
                throw WebSocketError(.unavailable, "can't listen on 127.0.0.1:\(port)", cause: error)
            }
        }

        static func configure(_ channel: any Channel, _ answers: Answers) throws {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderListSize = headerBytesMax
            limits.maxHeaderFieldSize = headerBytesMax / 2
            let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
            try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
            try channel.pipeline.syncOperations.addHandler(HTTPConnection(answers, on: channel.eventLoop))
        }

        package func stop() async { try? await channel.close() }
    }

    extension HTTPService.Response {
        /// Returns the error as JSON: `{"error":{"code":"…","message":"…"}}`.
        ///
        /// - Parameters:
        ///   - code: the reason, for programs.
        ///   - message: the reason, for people.
        ///   - fields: further members of the answer, as JSON that begins with a comma.
        package static func error(
            _ status: Int, _ code: String, _ message: String, fields: String = "",
            headers: [(name: String, value: String)] = []
        ) -> Self {
            .init(
                status: status, text: "{\"error\":{\"code\":\"\(code)\",\"message\":\(quoted(message))}\(fields)}\n",
                type: "application/json", headers: headers)
        }

        private static func quoted(_ text: String) -> String {
            var quoted = "\""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\"", "\\": quoted += "\\\(scalar)"
                case "\u{0}"..<" ": quoted += " "
                default: quoted.unicodeScalars.append(scalar)
                }
            }
            return quoted + "\""
        }

        /// Returns the response's bytes (RFC 9112, 4). `headers` and `type` never hold a client's text.
        ///
        /// - Parameter hasBody: false for the answer to HEAD.
        func encoded(closes: Bool, hasBody: Bool) -> ByteBuffer {
            var buffer = ByteBuffer()
            buffer.reserveCapacity(256 + text.utf8.count)
            buffer.writeString("HTTP/1.1 \(status) ")
            buffer.writeString(HTTPResponseStatus(statusCode: status).reasonPhrase)
            buffer.writeString("\r\nContent-Type: ")
            buffer.writeString(type)
            buffer.writeString("\r\nContent-Length: \(text.utf8.count)\r\n")
            for (name, value) in headers { buffer.writeString("\(name): \(value)\r\n") }
            if closes { buffer.writeString("Connection: close\r\n") }
            buffer.writeString("\r\n")
            if hasBody { buffer.writeString(text) }
            return buffer
        }
    }
#endif
