#if WebSocket
    import MeshBase
    package import NIOCore
    import NIOHTTP1
    import NIOPosix
    package import NIOSSL
    import NIOWebSocket

    /// Serves WebSockets on one event loop, on which its observer is called.
    package final class WebSocketServer: Sendable {
        private let channel: any Channel

        package var port: Int { channel.localAddress?.port ?? 0 }

        private init(_ channel: any Channel) { self.channel = channel }

        /// - Parameters:
        ///   - port: 0 for one of the system's choice.
        ///   - tls: nil for clear text, which is refused where others than this machine could connect.
        ///   - protocols: subprotocols, best first: the first of them that a client offers too is agreed on.
        ///   - allowedOrigins: sites whose pages may connect besides the server's own.
        /// - Throws: `WebSocketError.invalidAddress`, `invalidSettings`, `unavailable`.
        package static func start(
            host: String, port: Int, tls: NIOSSLContext?, protocols: [String], allowedOrigins: Set<String> = [],
            limits: WebSocketLimits, on loop: any EventLoop, observer: NIOLoopBound<any WebSocketObserver>
        ) async throws(WebSocketError) -> WebSocketServer {
            try WebSocketError.require(port: port)
            let limits = try limits.fitted()
            do {
                let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
                guard tls != nil || address.isLoopback else {
                    throw WebSocketError(
                        .invalidAddress, "'\(host)' is for others too, and needs a certificate and its key")
                }
                let policy = OriginPolicy(isSecure: tls != nil, allowedOrigins: allowedOrigins)
                let admission = NIOLoopBoundBox.makeBoxSendingValue(SocketAdmission(limits), eventLoop: loop)
                let channel = try await ServerBootstrap(group: loop, childGroup: loop)
                    .serverChannelOption(.backlog, value: 4096)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                    .childChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            guard let key = admission.value.admit(channel.remoteAddress?.ipAddress) else {
                                return channel.close(promise: nil)
                            }
                            let address = channel.remoteAddress?.ipAddress
                            channel.closeFuture.whenComplete { _ in admission.value.release(address) }
                            if let tls {
                                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                            }
                            let upgrade = Upgrade(
                                key: key, protocols: protocols, policy: policy, limits: limits, observer: observer
                            ) { admission.value.remember(address) }
                            try upgrade.configure(channel)
                        }
                    }
                    .bind(to: address).get()
                return WebSocketServer(channel)
            } catch {
                throw error as? WebSocketError
                    ?? WebSocketError(.unavailable, "cannot serve at \(host):\(port)", cause: error)
            }
        }

        /// Accepts no more; the sockets there are stay.
        package func stop() async { try? await channel.close() }
    }

    /// Who is connected, and the number of the next.
    struct SocketAdmission {
        /// Addresses that are remembered because a user has authenticated there.
        static let knownAddressesMax = 8192
        /// One place in so many is kept for known addresses.
        private static let keptShare = 10

        private let limits: WebSocketLimits
        private var counts: [String: Int] = [:]
        /// The older half goes when the newer one is full.
        private var known: (newer: Set<String>, older: Set<String>) = ([], [])
        private var count = 0
        private var key = 0

        init(_ limits: WebSocketLimits) { self.limits = limits }

        /// - Returns: a number that was never used; nil where there is no room.
        mutating func admit(_ address: String?) -> Int? {
            let address = address ?? ""
            let kept = isKnown(address) ? 0 : limits.connectionsMax / Self.keptShare
            guard count < limits.connectionsMax - kept, counts[address, default: 0] < limits.connectionsPerAddress
            else {
                return nil
            }
            count += 1
            counts[address, default: 0] += 1
            key += 1
            return key
        }

        /// A user has authenticated at this address: it gets a place when strangers get none.
        mutating func remember(_ address: String?) {
            guard let address, !known.newer.contains(address) else { return }
            if known.newer.count >= Self.knownAddressesMax / 2 { known = ([], known.newer) }
            known.newer.insert(address)
        }

        var knownCount: Int { known.newer.count + known.older.count }

        func isKnown(_ address: String) -> Bool {
            known.newer.contains(address) || known.older.contains(address)
        }

        mutating func release(_ address: String?) {
            let address = address ?? ""
            count -= 1
            let left = counts[address, default: 0] - 1
            counts[address] = left > 0 ? left : nil
        }
    }

    /// From HTTP to a WebSocket in time, or closed.
    private struct Upgrade: Sendable {
        let key: Int
        let protocols: [String]
        let policy: OriginPolicy
        let limits: WebSocketLimits
        let observer: NIOLoopBound<any WebSocketObserver>
        /// Called on the loop when a user has authenticated on the socket.
        let onAuthenticated: @Sendable () -> Void

        func configure(_ channel: any Channel) throws {
            let late = channel.eventLoop.scheduleTask(in: TimeAmount(limits.upgradeTimeout)) {
                channel.close(promise: nil)
            }
            channel.closeFuture.whenComplete { _ in late.cancel() }
            let upgrader = NIOWebSocketServerUpgrader(
                maxFrameSize: limits.messageBytesMax,
                shouldUpgrade: { channel, head in
                    guard policy.refusal(head, port: channel.localAddress?.port) == nil else {
                        return channel.eventLoop.makeSucceededFuture(nil)
                    }
                    let agreed = agreed(head).map { [("Sec-WebSocket-Protocol", $0)] } ?? []
                    return channel.eventLoop.makeSucceededFuture(HTTPHeaders(agreed))
                },
                upgradePipelineHandler: { channel, head in
                    channel.eventLoop.makeCompletedFuture {
                        late.cancel()
                        let refusal = try channel.pipeline.syncOperations.context(handlerType: RefusingHandler.self)
                        channel.pipeline.syncOperations.removeHandler(context: refusal, promise: nil)
                        try channel.pipeline.syncOperations.addHandler(
                            WebSocket(
                                key: key, observer.value, isServer: true, subprotocol: agreed(head), limits,
                                onAuthenticated: onAuthenticated))
                    }
                })
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderListSize = 16 << 10
            decoding.maxHeaderFieldSize = 8 << 10
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }),
                withEncoderConfiguration: .init(), withDecoderLimitConfiguration: decoding)
            try channel.pipeline.syncOperations.addHandler(RefusingHandler(policy))
        }

        /// The first of our subprotocols that the client offers.
        private func agreed(_ head: HTTPRequestHead) -> String? {
            let offered = head.headers[canonicalForm: "Sec-WebSocket-Protocol"]
            return protocols.first { offered.contains(Substring($0)) }
        }
    }

    /// Answers whatever is no WebSocket.
    private final class RefusingHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let policy: OriginPolicy
        private var refusal: HTTPResponseStatus?

        init(_ policy: OriginPolicy) { self.policy = policy }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let part = unwrapInboundIn(data)
            if case .head(let head) = part { refusal = policy.refusal(head, port: context.channel.localAddress?.port) }
            guard case .end = part else { return }
            let headers = HTTPHeaders([("Upgrade", "websocket"), ("Connection", "close"), ("Content-Length", "0")])
            let head = HTTPResponseHead(version: .http1_1, status: refusal ?? .upgradeRequired, headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // The request that was refused an upgrade follows.
            if error as? NIOWebSocketUpgradeError == .unsupportedWebSocketTarget { return }
            context.close(promise: nil)
        }
    }

    extension SocketAddress {
        /// Of this machine only.
        package var isLoopback: Bool {
            switch self {
            case .v4: ipAddress?.hasPrefix("127.") == true
            case .v6: ipAddress == "::1"
            case .unixDomainSocket: true
            }
        }
    }
#endif
