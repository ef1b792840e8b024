#if WebSocket
    import MeshBase
    import NIOCore

    /// A client's WebSocket, usable from any task. When 64 messages wait to be read, it stops reading from the socket.
    package final class WebSocketConnection: Sendable {
        package enum Incoming: Hashable, Sendable {
            case text([UInt8])
            case binary([UInt8])
            /// The end, with the server's close code; nil if the connection broke.
            case closed(UInt16?)
        }

        private static let waitingMax = 64
        private let incoming: AsyncStream<Incoming>
        private let continuation: AsyncStream<Incoming>.Continuation
        private let waiting = Locked(0)
        private let agreed = Locked<String?>(nil)
        private let loop: any EventLoop
        private let socket: NIOLoopBoundBox<WebSocket?>

        /// The subprotocol that the server chose from those offered.
        package var subprotocol: String? { agreed.withLock { $0 } }

        init(_ loop: any EventLoop) {
            self.loop = loop
            (incoming, continuation) = AsyncStream.makeStream()
            socket = NIOLoopBoundBox.makeBoxSendingValue(nil, eventLoop: loop)
        }

        package func send(text: [UInt8]) { send(text, isText: true) }
        package func send(_ bytes: [UInt8], isText: Bool) { onSocket { $0.send(bytes, isText: isText) } }
        package func close(_ code: UInt16 = 1000) { onSocket { $0.close(code) } }
        package func drop() { onSocket { $0.drop() } }

        /// Passes on incoming messages. Supports one reader.
        package func read(_ body: (Incoming) async throws -> Void) async rethrows {
            for await message in incoming {
                try await body(message)
                let left = waiting.withLock { waiting in
                    waiting -= 1
                    return waiting
                }
                if left == Self.waitingMax / 2 { onSocket { $0.resume() } }
            }
        }

        private func onSocket(_ body: @escaping @Sendable (WebSocket) -> Void) {
            loop.execute { if let socket = self.socket.value { body(socket) } }
        }

        fileprivate func put(_ message: Incoming, _ socket: WebSocket) {
            let count = waiting.withLock { waiting in
                waiting += 1
                return waiting
            }
            continuation.yield(message)
            if count >= Self.waitingMax { socket.pause() }
            // The reader may have caught up before the pause took effect.
            if socket.isPaused, waiting.withLock({ $0 <= Self.waitingMax / 2 }) { socket.resume() }
        }

        fileprivate func begin(_ socket: WebSocket) {
            agreed.withLock { $0 = socket.subprotocol }
            self.socket.value = socket
        }

        fileprivate func end(_ code: UInt16?) {
            socket.value = nil
            continuation.yield(.closed(code))
            continuation.finish()
        }
    }

    /// Passes the socket's events to a connection. Confined to the event loop.
    final class ConnectionObserver: WebSocketObserver {
        private let connection: WebSocketConnection

        init(_ connection: WebSocketConnection) { self.connection = connection }

        func opened(_ socket: WebSocket) { connection.begin(socket) }
        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            connection.put(isText ? .text(message) : .binary(message), socket)
        }
        func flushed(_ count: Int, on socket: WebSocket) {}
        func closed(_ code: UInt16?, _ socket: WebSocket) { connection.end(code) }
    }
#endif
