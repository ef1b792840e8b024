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

        private typealias End = (channel: EmbeddedChannel, socket: WebSocket, counter: FlushCounter)

        private func ends(_ count: Int, _ loop: EmbeddedEventLoop, _ observer: Observer) throws -> [End] {
            let flushes = SocketFlushes(on: loop)
            return try (1...count).map { key in
                let socket = WebSocket(
                    key: key, observer, isServer: true, subprotocol: nil, WebSocketLimits(), flushes: flushes)
                let (channel, counter) = (EmbeddedChannel(loop: loop), FlushCounter())
                try channel.pipeline.syncOperations.addHandlers([counter, WebSocketFrameEncoder(), socket])
                return (channel, socket, counter)
            }
        }

        @Test func `Messages of one turn leave in one flush, in the order of sending`() throws {
            let (loop, observer) = (EmbeddedEventLoop(), Observer())
            let ends = try ends(3, loop, observer)
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

        @Test func `Sockets that get the same messages share one buffer, and others send their own`() throws {
            let (loop, observer) = (EmbeddedEventLoop(), Observer())
            let ends = try ends(4, loop, observer)
            let messages = "abc".utf8.map { PreparedMessage(text: [$0]) }
            let sent = [[0, 1], [0, 1], [0, 2], [0, 1, 2]]
            for (end, indices) in zip(ends, sent) {
                for index in indices { end.socket.send(messages[index]) }
            }
            loop.run()
            var addresses: [UnsafeRawPointer?] = []
            var buffers: [ByteBuffer] = []
            for (end, indices) in zip(ends, sent) {
                let buffer = try #require(try end.channel.readOutbound(as: ByteBuffer.self))
                #expect(Array(buffer.readableBytesView) == indices.flatMap { messages[$0].buffer.readableBytesView })
                #expect(try end.channel.readOutbound(as: ByteBuffer.self) == nil)
                addresses.append(buffer.withUnsafeReadableBytes(\.baseAddress))
                buffers.append(buffer)
                _ = try end.channel.finish(acceptAlreadyClosed: true)
            }
            #expect(addresses[0] == addresses[1] && Set(addresses).count == 3)
            #expect(observer.flushedCount == 9 * 3)
        }

        @Test func `Beyond a number of sockets the loop reads first, and later messages join those that wait`() throws {
            let (loop, observer) = (EmbeddedEventLoop(), Observer())
            let ends = try ends(SocketFlushes.socketsPerTurn * 2, loop, observer)
            let (first, second) = (PreparedMessage(text: [1]), PreparedMessage(text: [2]))
            for end in ends { end.socket.send(first) }
            loop.run()
            func flushed() -> [Int] { ends.map(\.counter.count) }
            #expect(flushed() == ends.indices.map { $0 < SocketFlushes.socketsPerTurn ? 1 : 0 })
            for end in ends { end.socket.send(second) }
            loop.advanceTime(by: SocketFlushes.readTime)
            #expect(flushed() == ends.map { _ in 1 })
            loop.advanceTime(by: SocketFlushes.readTime)
            #expect(flushed() == ends.indices.map { $0 < SocketFlushes.socketsPerTurn ? 2 : 1 })
            for end in ends {
                var bytes: [UInt8] = []
                while let part = try end.channel.readOutbound(as: ByteBuffer.self) { bytes += part.readableBytesView }
                #expect(bytes == [0x81, 1, 1, 0x81, 1, 2])
                _ = try end.channel.finish(acceptAlreadyClosed: true)
            }
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
