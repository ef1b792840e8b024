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
    }
#endif
