#if CommandLineTools && WebSocket
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import NIOWebSocket

    /// The baseline: SwiftNIO's WebSockets without SessionMesh. Writes one pre-encoded frame after the other to each socket.
    final class BareServer: Sendable {
        let port: Int
        private let sockets: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>

        private init(_ port: Int, _ sockets: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>) {
            (self.port, self.sockets) = (port, sockets)
        }

        static func start() async throws -> BareServer {
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let sockets = NIOLoopBoundBox.makeBoxSendingValue([ObjectIdentifier: any Channel](), eventLoop: loop)
            let server = try await ServerBootstrap(group: loop, childGroup: loop)
                .serverChannelOption(.backlog, value: 4096)
                .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let upgrader = NIOWebSocketServerUpgrader(
                            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
                            upgradePipelineHandler: { channel, _ in
                                sockets.value[ObjectIdentifier(channel)] = channel
                                channel.closeFuture.whenComplete { _ in
                                    sockets.value[ObjectIdentifier(channel)] = nil
                                }
                                return channel.eventLoop.makeSucceededVoidFuture()
                            })
                        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            return BareServer(server.localAddress?.port ?? 0, sockets)
        }

        /// Sends a text frame to every socket.
        func push(_ text: [UInt8]) async throws {
            try await sockets.eventLoop.submit { [sockets] in
                let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: text))
                for socket in sockets.value.values { socket.writeAndFlush(frame, promise: nil) }
            }.get()
        }
    }
#endif
