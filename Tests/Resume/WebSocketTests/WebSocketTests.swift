#if WebSocket
    import NIOCore
    import NIOEmbedded
    import NIOWebSocket
    import Testing

    @testable import MeshWebSocket

    @Suite struct WebSocketTests {
        private final class Observer: WebSocketObserver {
            var flushedCount = 0

            func opened(_ socket: WebSocket) {}
            func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {}
            func flushed(_ count: Int, on socket: WebSocket) { flushedCount += count }
            func closed(_ code: UInt16?, _ socket: WebSocket) {}
        }

        @Test func `Bytes that are sent after a close aren't counted as flushed`() throws {
            let observer = Observer()
            let socket = WebSocket(key: 1, observer, isServer: true, subprotocol: nil, WebSocketLimits())
            let channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
            try channel.pipeline.syncOperations.addHandler(socket)
            socket.send([1, 2, 3], isText: false)
            channel.embeddedEventLoop.run()
            #expect(observer.flushedCount == 3)
            socket.close(1000)
            socket.send([4, 5], isText: false)
            channel.embeddedEventLoop.run()
            #expect(observer.flushedCount == 3)
            _ = try channel.finish(acceptAlreadyClosed: true)
        }

        @Test func `Messages of one turn leave in one flush, in the order of sending`() throws {
            let (loop, observer) = (EmbeddedEventLoop(), Observer())
            let flushes = SocketFlushes(on: loop)
            var ends: [(channel: EmbeddedChannel, socket: WebSocket, counter: FlushCounter)] = []
            for key in 1...3 {
                let socket = WebSocket(
                    key: key, observer, isServer: true, subprotocol: nil, WebSocketLimits(), flushes: flushes)
                let (channel, counter) = (EmbeddedChannel(loop: loop), FlushCounter())
                try channel.pipeline.syncOperations.addHandlers([counter, WebSocketFrameEncoder(), socket])
                ends.append((channel, socket, counter))
            }
            for (_, socket, _) in ends {
                socket.send(PreparedMessage(text: Array("a".utf8)))
                socket.send(PreparedMessage(text: Array("b".utf8)))
                socket.send(Array("c".utf8), isText: true)
                socket.send(PreparedMessage(text: Array("d".utf8)))
            }
            ends[2].socket.close(1000)
            #expect(ends.map(\.counter.count) == [0, 0, 1])
            loop.run()
            #expect(ends.map(\.counter.count) == [1, 1, 2])
            for (index, (channel, _, _)) in ends.enumerated() {
                var sent: [UInt8] = []
                while let part = try channel.readOutbound(as: ByteBuffer.self) { sent += part.readableBytesView }
                let messages = "abcd".utf8.flatMap { [0x81, 1, $0] as [UInt8] }
                #expect(sent == messages + (index == 2 ? [0x88, 2, 3, 232] : []))
                _ = try channel.finish(acceptAlreadyClosed: true)
            }
            // Each prepared message counts with its header.
            #expect(observer.flushedCount == 3 * (3 * 3 + 1))
        }
    }

    private final class FlushCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var count = 0

        func flush(context: ChannelHandlerContext) {
            count += 1
            context.flush()
        }
    }
#endif
