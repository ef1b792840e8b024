#if UDP
    import NIOCore
    import NIOSSL
    import NIOTLS

    /// The handler before TLS. It ends a connection that sends too much before it has proven its peer. It can also
    /// close the socket without waiting for TLS.
    final class UnprovenGate: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var bytesLeft: Int?
        private let exceeded: () -> Void
        private var context: ChannelHandlerContext?

        init(bytesMax: Int, exceeded: @escaping () -> Void) {
            bytesLeft = bytesMax
            self.exceeded = exceeded
        }

        /// Lifts the limit, once the other side has proven its identity.
        func open() { bytesLeft = nil }

        /// Closes the socket below TLS, which would wait for an answer.
        func abort() { context?.close(mode: .all, promise: nil) }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let left = bytesLeft else { return context.fireChannelRead(data) }
            bytesLeft = left - unwrapInboundIn(data).readableBytes
            guard left >= unwrapInboundIn(data).readableBytes else { return exceeded() }
            context.fireChannelRead(data)
        }
    }

    /// The owner of a connection, to which the events above TLS are reported. Called on the event loop.
    protocol SecuredConnection: AnyObject {
        func handshakeCompleted(protocol: String?)
        func read(_ bytes: ByteBuffer)
        func failed(_ error: any Error)
        func closed()
    }

    /// The handler after TLS.
    final class SecuredHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private weak var connection: (any SecuredConnection)?

        init(_ connection: any SecuredConnection) { self.connection = connection }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection?.read(unwrapInboundIn(data)) }
        func channelInactive(context: ChannelHandlerContext) { connection?.closed() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { connection?.failed(error) }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case TLSUserEvent.handshakeCompleted(let name) = event else { return }
            connection?.handshakeCompleted(protocol: name)
        }
    }
#endif
