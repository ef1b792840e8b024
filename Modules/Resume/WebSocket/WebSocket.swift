#if WebSocket
    import MeshBase
    package import NIOCore
    package import NIOWebSocket

    /// The receiver of a WebSocket's events. Called on its event loop.
    package protocol WebSocketObserver: AnyObject {
        func opened(_ socket: WebSocket)
        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket)
        /// Reports that this number of message bytes has been sent.
        func flushed(_ count: Int, on socket: WebSocket)
        /// Reports the end, as the last call. The code is the other side's; nil if the connection broke.
        func closed(_ code: UInt16?, _ socket: WebSocket)
    }

    /// Flushes the sockets of one event loop together, first come, first served. Confined to the loop.
    ///
    /// Beyond `socketsPerTurn` the loop reads its sockets before it flushes more. So a message to many sockets doesn't stop the
    /// loop, and messages that are sent meanwhile leave in the same flush.
    package final class SocketFlushes {
        /// Maximum number of sockets that are flushed before the loop reads again.
        static let socketsPerTurn = 64
        /// The time for which the loop reads. Not zero, because a loop runs due tasks before it reads.
        static let readTime = TimeAmount.microseconds(20)

        private let loop: any EventLoop
        private var sockets = CircularBuffer<WebSocket>()
        private var isPlanned = false
        /// The messages that were joined last, because all sockets of a stream get the same ones in succession.
        private var joined: (messages: [PreparedMessage], bytes: ByteBuffer) = ([], ByteBuffer())

        init(on loop: any EventLoop) { self.loop = loop }

        /// Flushes a socket once the current turn's messages are written. Called once per socket and flush.
        fileprivate func plan(_ socket: WebSocket) {
            sockets.append(socket)
            guard !isPlanned else { return }
            isPlanned = true
            let flushes = NIOLoopBound(self, eventLoop: loop)
            loop.execute { flushes.value.flush() }
        }

        private func flush() {
            for _ in 0..<Self.socketsPerTurn {
                guard let socket = sockets.popFirst() else { break }
                socket.flush()
            }
            guard sockets.isEmpty else {
                let flushes = NIOLoopBound(self, eventLoop: loop)
                loop.scheduleTask(in: Self.readTime) { flushes.value.flush() }
                return
            }
            isPlanned = false
            joined = ([], ByteBuffer())
        }

        /// Returns the bytes of messages that leave together.
        fileprivate func bytes(of messages: [PreparedMessage]) -> ByteBuffer {
            if messages.count == 1 { return messages[0].buffer }
            if !joined.messages.elementsEqual(messages, by: ===) {
                joined = (messages, PreparedMessage.joined(messages))
            }
            return joined.bytes
        }
    }

    /// A WebSocket after its handshake (RFC 6455), on either side. Confined to its event loop.
    ///
    /// Messages written in one turn of the loop are flushed together. While the other side doesn't read, nothing is
    /// read from it either, so that pongs can't pile up.
    package final class WebSocket: ChannelDuplexHandler {
        package typealias InboundIn = WebSocketFrame
        package typealias OutboundIn = Never
        package typealias OutboundOut = WebSocketFrame

        package let key: Int
        /// The agreed subprotocol.
        package let subprotocol: String?
        private let onAuthenticated: @Sendable () -> Void
        /// The name under which the server counts this client; nil on a client.
        package internal(set) var address: String?
        private weak var observer: (any WebSocketObserver)?
        private var retainedObserver: (any WebSocketObserver)?
        private let isServer: Bool
        private let closeTimeout: Duration
        private var assembler: MessageAssembler
        private var context: ChannelHandlerContext?
        /// The context through which encoded frames are written.
        private var encoder: ChannelHandlerContext?
        private let flushes: SocketFlushes?
        private var unflushed = 0
        private var flushIsPlanned = false
        /// The newest messages, which are written with the flush.
        private var unwritten: [PreparedMessage] = []
        private var wantsRead = false
        /// True while the owner doesn't want more messages. Then nothing is read.
        package private(set) var isPaused = false
        private var isClosing = false
        private var closeCode: UInt16?
        private var isOver = false

        init(
            key: Int, _ observer: any WebSocketObserver, isServer: Bool, subprotocol: String?,
            _ limits: WebSocketLimits, flushes: SocketFlushes? = nil,
            onAuthenticated: @escaping @Sendable () -> Void = {}
        ) {
            (self.key, self.subprotocol, self.onAuthenticated) = (key, subprotocol, onAuthenticated)
            self.flushes = flushes
            self.observer = observer
            self.isServer = isServer
            closeTimeout = limits.closeTimeout
            assembler = MessageAssembler(bytesMax: limits.messageBytesMax)
        }

        /// Creates a client's socket that keeps its observer alive.
        convenience init(
            key: Int, keeping observer: any WebSocketObserver, subprotocol: String?, _ limits: WebSocketLimits
        ) {
            self.init(key: key, observer, isServer: false, subprotocol: subprotocol, limits)
            retainedObserver = observer
        }

        // MARK: Owner

        package func send(_ message: PreparedMessage) {
            guard encoder != nil, !isClosing else { return }
            unwritten.append(message)
            planFlush(message.buffer.readableBytes)
        }

        package func send(_ bytes: [UInt8], isText: Bool) {
            guard context != nil, !isClosing else { return }
            write(isText ? .text : .binary, ByteBuffer(bytes: bytes))
            planFlush(bytes.count)
        }

        /// Flushes with the next messages, or without any.
        func flushSoon() { planFlush(0) }

        package func ping() {
            write(.ping, ByteBuffer())
            planFlush(0)
        }

        /// Sends a close frame, and waits up to `closeTimeout` for the answer. Later messages are ignored.
        package func close(_ code: UInt16, _ reason: String = "") {
            guard let context, !isClosing else { return }
            var data = ByteBuffer(integer: code)
            data.writeBytes(reason.utf8.prefix(123))
            write(.connectionClose, data)
            isClosing = true
            flush()
            let channel = context.channel
            context.eventLoop.scheduleTask(in: TimeAmount(closeTimeout)) { channel.close(promise: nil) }
        }

        /// Notes that a user has authenticated on this socket.
        package func markAuthenticated() { onAuthenticated() }

        package func pause() { isPaused = true }

        package func resume() {
            isPaused = false
            readOn()
        }

        /// Closes the connection without a close frame.
        package func drop() { context?.close(promise: nil) }

        // MARK: Channel

        package func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            encoder = try? context.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
            observer?.opened(self)
        }

        package func handlerRemoved(context: ChannelHandlerContext) { end() }

        package func channelInactive(context: ChannelHandlerContext) {
            end()
            context.fireChannelInactive()
        }

        package func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // The previous handler has already reported a protocol error to the other side, and closes.
            if !(error is NIOWebSocketError) { context.close(promise: nil) }
        }

        package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var frame = unwrapInboundIn(data)
            if frame.maskKey != nil { frame.data = frame.unmaskedData }
            if isServer, frame.maskKey == nil { return close(1002, "a client must mask its frames") }
            switch frame.opcode {
            case .connectionClose: receiveClose(frame.data)
            case _ where isClosing: break
            case .ping:
                write(.pong, frame.data)
                planFlush(0)
            case .pong: break
            case .text: take(frame, .text)
            case .binary: take(frame, .binary)
            case .continuation: take(frame, nil)
            default: close(1002, "unknown kind of frame")
            }
        }

        /// Backpressure: reads nothing while the other side doesn't read.
        package func read(context: ChannelHandlerContext) {
            wantsRead = isPaused || !context.channel.isWritable
            if !wantsRead { context.read() }
        }

        package func channelWritabilityChanged(context: ChannelHandlerContext) {
            readOn()
            context.fireChannelWritabilityChanged()
        }
    }

    extension WebSocket {
        private func take(_ frame: WebSocketFrame, _ kind: MessageAssembler.Kind?) {
            guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
                return close(1002, "a reserved bit is set, but no extension was negotiated")
            }
            do throws(MessageAssembler.Violation) {
                guard
                    let (kind, bytes) = try assembler.take(frame.data.readableBytesView, kind: kind, isLast: frame.fin)
                else { return }
                observer?.received(bytes, isText: kind == .text, on: self)
            } catch {
                close(error.code, error.reason)
            }
        }

        private func readOn() {
            guard let context, wantsRead, !isPaused, context.channel.isWritable else { return }
            wantsRead = false
            context.read()
        }

        private func receiveClose(_ data: ByteBuffer) {
            closeCode = data.getInteger(at: data.readerIndex) ?? 1005
            if !isClosing {
                write(
                    .connectionClose,
                    data.getSlice(at: data.readerIndex, length: min(2, data.readableBytes)) ?? ByteBuffer())
                isClosing = true
                flush()
            }
            context?.close(promise: nil)
        }

        private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer) {
            guard let context, !isClosing else { return }
            if !unwritten.isEmpty { encoder?.write(NIOAny(takeUnwritten()), promise: nil) }
            let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: isServer ? nil : .random(), data: data)
            context.write(wrapOutboundOut(frame), promise: nil)
        }

        private func planFlush(_ count: Int) {
            unflushed += count
            guard !flushIsPlanned, let context else { return }
            flushIsPlanned = true
            if let flushes { return flushes.plan(self) }
            let socket = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.eventLoop.execute { socket.value.flush() }
        }

        private func takeUnwritten() -> ByteBuffer {
            defer { unwritten = [] }
            return flushes?.bytes(of: unwritten) ?? PreparedMessage.joined(unwritten)
        }

        fileprivate func flush() {
            flushIsPlanned = false
            guard let context, let encoder else { return }
            let count = unflushed
            unflushed = 0
            guard count > 0 else { return context.flush() }
            let socket = NIOLoopBound(self, eventLoop: context.eventLoop)
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.whenSuccess { socket.value.observer?.flushed(count, on: socket.value) }
            encoder.writeAndFlush(NIOAny(takeUnwritten()), promise: written)
        }

        private func end() {
            guard !isOver else { return }
            isOver = true
            (context, encoder, unwritten) = (nil, nil, [])
            observer?.closed(closeCode, self)
            retainedObserver = nil
        }
    }
#endif
