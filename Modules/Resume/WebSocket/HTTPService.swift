#if WebSocket
    package import NIOCore
    import NIOHTTP1
    import NIOPosix

    /// A small HTTP server on loopback for operators, for example for metrics and health. Each connection serves one
    /// request of at most 128 KiB. The client has 10 s to send the request, and 10 s to receive the response. The
    /// closure may take any time.
    ///
    /// Requests from pages of other sites are refused (403), and so are requests for another host name (421).
    package final class HTTPService: Sendable {
        package struct Request: Sendable {
            package let method: String
            package let path: String
            /// The value of the header `Authorization`.
            package let authorization: String?
            package let body: [UInt8]
        }

        package struct Response: Sendable {
            let status: Int
            let text: String
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

        static let bodyBytesMax = 128 << 10
        static let requestTimeout = TimeAmount.seconds(10)
        private let channel: any Channel

        package var port: Int { channel.localAddress?.port ?? 0 }

        private init(_ channel: any Channel) { self.channel = channel }

        package static func start(
            port: Int, on loop: any EventLoop, answer: @escaping @Sendable (Request) async -> Response
        ) async throws(WebSocketError) -> HTTPService {
            try WebSocketError.require(port: port)
            do {
                let channel = try await ServerBootstrap(group: loop, childGroup: loop)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture { try configure(channel, answer: answer) }
                    }
                    .bind(host: "127.0.0.1", port: port).get()
                return HTTPService(channel)
            } catch {
                throw WebSocketError(.unavailable, "can't listen on 127.0.0.1:\(port)", cause: error)
            }
        }

        static func configure(
            _ channel: any Channel, answer: @escaping @Sendable (Request) async -> Response
        ) throws {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
            try channel.pipeline.syncOperations.addHandler(AnsweringHandler(answer))
        }

        package func stop() async { try? await channel.close() }
    }

    private final class AnsweringHandler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answer: @Sendable (HTTPService.Request) async -> HTTPService.Response
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []
        private var deadline: Scheduled<Void>?
        private var isAnswering = false

        init(_ answer: @escaping @Sendable (HTTPService.Request) async -> HTTPService.Response) { self.answer = answer }

        func handlerAdded(context: ChannelHandlerContext) { limitTime(of: context.channel) }

        func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isAnswering else { return }
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body(let bytes):
                guard body.count + bytes.readableBytes <= HTTPService.bodyBytesMax else {
                    return context.close(promise: nil)
                }
                body += bytes.readableBytesView
            case .end:
                guard let head else { return }
                isAnswering = true
                deadline?.cancel()
                let channel = context.channel
                if let status = OriginPolicy().refusal(head, port: channel.localAddress?.port) {
                    return write(.init(status: Int(status.code), text: "\(status.reasonPhrase)\n"), to: channel)
                }
                let request = HTTPService.Request(
                    method: head.method.rawValue, path: head.uri,
                    authorization: head.headers.first(name: "Authorization"), body: body)
                let answer = answer
                channel.eventLoop.makeFutureWithTask { await answer(request) }.assumeIsolated()
                    .whenSuccess { self.write($0, to: channel) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func limitTime(of channel: any Channel) {
            deadline = channel.eventLoop.scheduleTask(in: HTTPService.requestTimeout) { channel.close(promise: nil) }
        }

        private func write(_ response: HTTPService.Response, to channel: any Channel) {
            guard channel.isActive else { return }
            limitTime(of: channel)
            let headers = HTTPHeaders(
                [
                    ("Content-Type", response.type), ("Content-Length", "\(response.text.utf8.count)"),
                    ("Connection", "close"),
                ] + response.headers.map { ($0.name, $0.value) })
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: response.text))), promise: nil)
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
        }
    }
#endif
