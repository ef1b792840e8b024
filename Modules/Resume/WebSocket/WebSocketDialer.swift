#if WebSocket
    package import NIOCore
    import NIOHTTP1
    import NIOPosix
    package import NIOSSL
    import NIOWebSocket

    /// Opens WebSockets.
    package enum WebSocketDialer {
        /// Opens a WebSocket.
        /// - Parameters:
        ///   - tls: The context for `wss:`; nil uses the system's trusted authorities.
        ///   - protocols: The subprotocols to offer, best first.
        /// - Throws: `WebSocketError`.
        package static func connect(
            _ address: WebSocketAddress, tls: NIOSSLContext? = nil, protocols: [String] = [],
            limits: WebSocketLimits = .init(), on loop: (any EventLoop)? = nil
        ) async throws(WebSocketError) -> WebSocketConnection {
            let loop = loop ?? MultiThreadedEventLoopGroup.singleton.next()
            let connection = WebSocketConnection(loop)
            try await dial(address, tls: tls, protocols: protocols, limits: limits, on: loop) {
                ConnectionObserver(connection)
            }
            return connection
        }

        /// Opens a WebSocket for an owner on the event loop.
        /// - Parameter observer: Creates the observer, on the event loop. The socket keeps it alive.
        package static func dial(
            _ address: WebSocketAddress, tls: NIOSSLContext? = nil, protocols: [String] = [],
            limits: WebSocketLimits = .init(), on loop: any EventLoop, key: Int = 0,
            observer: @escaping @Sendable () -> any WebSocketObserver
        ) async throws(WebSocketError) {
            do {
                let context = try address.isSecure ? tls ?? NIOSSLContext(configuration: .clientDefault) : nil
                let upgraded = loop.makePromise(of: Void.self)
                let channel: any Channel
                do {
                    channel = try await ClientBootstrap(group: loop)
                        .connectTimeout(TimeAmount(limits.upgradeTimeout))
                        .channelOption(.socketOption(.tcp_nodelay), value: 1)
                        .channelInitializer { channel in
                            channel.eventLoop.makeCompletedFuture {
                                let pipeline = channel.pipeline.syncOperations
                                if let context { try pipeline.addHandler(tlsHandler(context, address.host)) }
                                try configure(channel, address, protocols, limits, key, observer, upgraded)
                            }
                        }
                        .connect(host: address.host, port: address.port).get()
                } catch {
                    upgraded.fail(error)
                    throw error
                }
                let late = loop.scheduleTask(in: TimeAmount(limits.upgradeTimeout)) { channel.close(promise: nil) }
                channel.closeFuture.whenComplete { _ in
                    upgraded.fail(
                        WebSocketError(
                            .refused, "\(address.host):\(address.port) didn't upgrade the connection to a WebSocket"))
                }
                try await upgraded.futureResult.get()
                late.cancel()
            } catch {
                throw error as? WebSocketError
                    ?? WebSocketError(
                        .unavailable, "can't connect to \(address.host):\(address.port)", cause: error)
            }
        }

        private static func tlsHandler(_ context: NIOSSLContext, _ host: String) throws -> NIOSSLClientHandler {
            let isNumber = (try? SocketAddress(ipAddress: host, port: 0)) != nil
            return try NIOSSLClientHandler(context: context, serverHostname: isNumber ? nil : host)
        }

        private static func configure(
            _ channel: any Channel, _ address: WebSocketAddress, _ protocols: [String], _ limits: WebSocketLimits,
            _ key: Int, _ observer: @escaping @Sendable () -> any WebSocketObserver, _ upgraded: EventLoopPromise<Void>
        ) throws {
            let upgrader = NIOWebSocketClientUpgrader(
                maxFrameSize: limits.messageBytesMax,
                upgradePipelineHandler: { channel, head in
                    channel.eventLoop.makeCompletedFuture {
                        let agreed = head.headers.first(name: "Sec-WebSocket-Protocol")
                        guard agreed.map(protocols.contains) ?? true else {
                            channel.close(promise: nil)
                            throw WebSocketError(.refused, "the server chose a subprotocol that wasn't offered")
                        }
                        let request = try channel.pipeline.syncOperations.context(handlerType: RequestHandler.self)
                        channel.pipeline.syncOperations.removeHandler(context: request, promise: nil)
                        try channel.pipeline.syncOperations.addHandler(
                            WebSocket(key: key, keeping: observer(), subprotocol: agreed, limits))
                        upgraded.succeed()
                    }
                })
            try channel.pipeline.syncOperations.addHTTPClientHandlers(
                leftOverBytesStrategy: .forwardBytes,
                withClientUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
            try channel.pipeline.syncOperations.addHandler(RequestHandler(address, protocols))
        }
    }

    /// Sends the upgrade request once the connection is established.
    private final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias OutboundOut = HTTPClientRequestPart

        private let head: HTTPRequestHead

        init(_ address: WebSocketAddress, _ protocols: [String]) {
            let host = address.host.contains(":") ? "[\(address.host)]" : address.host
            var headers = HTTPHeaders([("Host", "\(host):\(address.port)"), ("Content-Length", "0")])
            if !protocols.isEmpty {
                headers.add(name: "Sec-WebSocket-Protocol", value: protocols.joined(separator: ", "))
            }
            head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.path, headers: headers)
        }

        func channelActive(context: ChannelHandlerContext) {
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            context.fireChannelActive()
        }

        /// Closes after any response other than the upgrade.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
#endif
