#if CommandLineTools && WebSocket
    import NIOCore
    import NIOHTTP1
    import NIOPosix

    /// The baseline for publishing: SwiftNIO's HTTP server without SessionMesh. Reads each request and answers the same bytes.
    enum BareHTTPServer {
        /// Starts a server on a port that the system chooses, and returns the port.
        static func start() async throws -> Int {
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let server = try await ServerBootstrap(group: loop, childGroup: loop)
                .serverChannelOption(.backlog, value: 4096)
                .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                        try channel.pipeline.syncOperations.addHandler(Answering())
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            return server.localAddress?.port ?? 0
        }

        private final class Answering: ChannelInboundHandler {
            typealias InboundIn = HTTPServerRequestPart
            typealias OutboundOut = HTTPServerResponsePart

            private var body: [UInt8] = []
            private var isKeptAlive = false

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                switch unwrapInboundIn(data) {
                case .head(let head): (body, isKeptAlive) = ([], head.isKeepAlive)
                case .body(let bytes): body += bytes.readableBytesView
                case .end:
                    let text = ByteBuffer(string: "{\"s\":\(body.count)}\n")
                    let headers = HTTPHeaders([
                        ("Content-Type", "application/json"), ("Content-Length", "\(text.readableBytes)"),
                        ("Connection", isKeptAlive ? "keep-alive" : "close"),
                    ])
                    let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
                    context.write(wrapOutboundOut(.head(head)), promise: nil)
                    context.write(wrapOutboundOut(.body(.byteBuffer(text))), promise: nil)
                    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
                    if !isKeptAlive { context.close(promise: nil) }
                }
            }
        }
    }
#endif
