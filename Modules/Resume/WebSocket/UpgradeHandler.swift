#if WebSocket
    import NIOCore
    import NIOHTTP1
    import NIOWebSocket

    /// Upgrades a connection to a WebSocket with its first request (RFC 6455, 4.2), or refuses that request and closes.
    ///
    /// Writes its answer as bytes, so the pipeline needs no HTTP encoder, and the upgrade leaves together with the socket's
    /// first messages.
    final class UpgradeHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        /// The decisions about an upgrade.
        struct Rules {
            let protocols: [String]
            let policy: OriginPolicy
            let limits: WebSocketLimits
            /// Called with the request's headers. Returns false if the client has too many connections.
            let admits: (HTTPHeaders) -> Bool
            /// Creates the socket, with the agreed subprotocol.
            let makeSocket: (String?) -> WebSocket
        }

        private enum Answer {
            case upgrade(HTTPRequestHead)
            case refusal(HTTPResponseStatus)
        }

        private let rules: Rules
        private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
        private var answer: Answer?
        private var hasAnswered = false
        private var late: Scheduled<Void>?

        /// - Parameter decoder: the handler before this one. It leaves the pipeline with the upgrade.
        init(_ rules: Rules, after decoder: ByteToMessageHandler<HTTPRequestDecoder>) {
            (self.rules, self.decoder) = (rules, decoder)
        }

        /// Adds the handlers of a connection that hasn't sent a request yet.
        static func configure(_ channel: any Channel, _ rules: Rules) throws {
            var decoding = NIOHTTPDecoderLimitConfiguration()
            decoding.maxHeaderListSize = 16 << 10
            decoding.maxHeaderFieldSize = 8 << 10
            let decoder = ByteToMessageHandler(
                HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: decoding))
            try channel.pipeline.syncOperations.addHandlers([decoder, UpgradeHandler(rules, after: decoder)])
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let channel = context.channel
            late = context.eventLoop.scheduleTask(in: TimeAmount(rules.limits.upgradeTimeout)) {
                channel.close(promise: nil)
            }
        }

        func handlerRemoved(context: ChannelHandlerContext) { late?.cancel() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                if answer == nil { answer = self.answer(to: head, port: context.channel.localAddress?.port) }
            case .body: break
            case .end:
                guard !hasAnswered, let answer else { return }
                hasAnswered = true
                switch answer {
                case .upgrade(let head): upgrade(head, context)
                case .refusal(let status): refuse(status, context)
                }
            }
        }

        private func answer(to head: HTTPRequestHead, port: Int?) -> Answer {
            if let refusal = rules.policy.refusal(head, port: port) { return .refusal(refusal) }
            let headers = head.headers
            guard head.method == .GET, head.version == .http1_1,
                headers[canonicalForm: "Upgrade"].contains(where: { $0.lowercased() == "websocket" }),
                headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "upgrade" }),
                headers["Sec-WebSocket-Version"] == ["13"], rules.admits(headers)
            else { return .refusal(.upgradeRequired) }
            return .upgrade(head)
        }

        // MARK: Answers

        private func upgrade(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            Self.handshake.buildUpgradeResponse(
                channel: context.channel, upgradeRequest: head, initialResponseHeaders: [:]
            ).assumeIsolated().whenComplete { [self] result in
                guard case .success(let headers) = result else { return refuse(.badRequest, context) }
                do { try upgrade(head, with: headers, context) } catch { context.close(promise: nil) }
            }
        }

        /// Computes the header Sec-WebSocket-Accept.
        private static let handshake = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })

        private func upgrade(_ head: HTTPRequestHead, with headers: HTTPHeaders, _ context: ChannelHandlerContext)
            throws
        {
            let offered = head.headers[canonicalForm: "Sec-WebSocket-Protocol"]
            let agreed = rules.protocols.first { offered.contains(Substring($0)) }
            let pipeline = context.pipeline.syncOperations
            // Flushed with the socket's first messages.
            write(.switchingProtocols, headers + (agreed.map { [("Sec-WebSocket-Protocol", $0)] } ?? []), context)
            let frames = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: rules.limits.messageBytesMax))
            try pipeline.addHandlers([WebSocketFrameEncoder(), frames, WebSocketProtocolErrorHandler()])
            let socket = rules.makeSocket(agreed)
            try pipeline.addHandler(socket)
            socket.flushSoon()
            // The bytes that follow the request go on to the decoder of frames.
            pipeline.removeHandler(context: context, promise: nil)
            pipeline.removeHandler(context: try pipeline.context(handler: decoder), promise: nil)
        }

        private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
            let headers = [
                ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Connection", "close"),
                ("Content-Length", "0"),
            ]
            let channel = context.channel
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.whenComplete { _ in channel.close(promise: nil) }
            write(status, headers, context, promise: written)
            context.flush()
        }

        private func write(
            _ status: HTTPResponseStatus, _ headers: some Sequence<(name: String, value: String)>,
            _ context: ChannelHandlerContext,
            promise: EventLoopPromise<Void>? = nil
        ) {
            var bytes = ByteBuffer()
            bytes.reserveCapacity(256)
            bytes.writeString("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n")
            for (name, value) in headers { bytes.writeString("\(name): \(value)\r\n") }
            bytes.writeString("\r\n")
            context.write(wrapOutboundOut(bytes), promise: promise)
        }
    }
#endif
