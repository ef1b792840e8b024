#if WebSocket
    import Foundation
    import MeshResume
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    @testable import MeshGatewayServer

    /// A TCP connection that can send bytes that no WebSocket library would.
    struct RawSocket: Sendable {
        /// - Parameter headers: Additional headers, each with its line ending.
        static func upgrade(_ host: String, _ headers: String = "") -> String {
            """
            GET / HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            \(headers)Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
            """
        }

        static func upgrade(_ server: GatewayServer) -> String { upgrade("127.0.0.1:\(server.port)") }

        private let channel: any Channel
        private let incoming: AsyncStream<ByteBuffer>

        /// - Parameter reads: False if it doesn't read what the server sends.
        init(_ server: GatewayServer, reads: Bool = true) async throws {
            let (incoming, continuation) = AsyncStream<ByteBuffer>.makeStream()
            self.incoming = incoming
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: reads)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ListeningHandler(continuation))
                    }
                }
                .connect(host: "127.0.0.1", port: server.port).get()
        }

        func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
        func close() { channel.close(promise: nil) }

        /// Returns everything that the server sends until it closes.
        func rest() async -> [UInt8] {
            var bytes: [UInt8] = []
            for await part in incoming { bytes += part.readableBytesView }
            return bytes
        }

        /// Returns a client's frame, with a mask that changes nothing.
        static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
            let mask: UInt8 = isMasked ? 0x80 : 0
            let length: [UInt8] =
                payload.count <= 125
                ? [mask | UInt8(payload.count)]
                : [mask | 126, UInt8(payload.count >> 8 & 0xff), UInt8(payload.count & 0xff)]
            return [first] + length + (isMasked ? [0, 0, 0, 0] : []) + payload
        }

        /// Returns the code of the close frame that ends the server's bytes after its HTTP head.
        static func closeCode(in bytes: [UInt8]) -> UInt16? {
            guard var place = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
            while place + 2 <= bytes.count {
                var (length, head) = (Int(bytes[place + 1] & 0x7f), 2)
                if length == 126, place + 4 <= bytes.count {
                    (length, head) = (Int(bytes[place + 2]) << 8 | Int(bytes[place + 3]), 4)
                }
                let data = place + head
                guard data + length <= bytes.count else { return nil }
                if bytes[place] == 0x88, length >= 2 { return UInt16(bytes[data]) << 8 | UInt16(bytes[data + 1]) }
                place = data + length
            }
            return nil
        }
    }

    private final class ListeningHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let continuation: AsyncStream<ByteBuffer>.Continuation

        init(_ continuation: AsyncStream<ByteBuffer>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }
        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// A client in any language: JSON over a WebSocket, and its stored state.
    enum PlainClient {
        struct Frame: Decodable, Equatable {
            struct Fields: Decodable, Equatable {
                let sessionID: String?

                enum CodingKeys: String, CodingKey { case sessionID = "session_id" }
            }

            let op: Int
            let s: UInt64?
            let t: String?
            let d: Fields?

            enum CodingKeys: CodingKey { case op, s, t, d }

            init(from decoder: any Decoder) throws {
                let frame = try decoder.container(keyedBy: CodingKeys.self)
                op = try frame.decode(Int.self, forKey: .op)
                s = try frame.decodeIfPresent(UInt64.self, forKey: .s)
                t = try frame.decodeIfPresent(String.self, forKey: .t)
                d = try? frame.decodeIfPresent(Fields.self, forKey: .d)
            }
        }

        typealias Conversation = (frames: [Frame], code: UInt16?)

        private struct Enough: Error {}

        /// Answers hello with a handshake.
        /// - Returns: The frames that follow, until `isEnough` or the close, and the close code.
        static func converse(
            _ server: GatewayServer, _ handshake: String, until isEnough: @Sendable ([Frame]) async throws -> Bool
        ) async throws -> Conversation {
            let socket = try await WebSocketDialer.connect(WebSocketAddress("ws://127.0.0.1:\(server.port)/"))
            var (frames, code): ([Frame], UInt16?) = ([], nil)
            do {
                try await socket.read { incoming in
                    switch incoming {
                    case .text(let bytes):
                        let frame = try JSONDecoder().decode(Frame.self, from: Data(bytes))
                        if frame.op == 10 { return socket.send(text: Array(handshake.utf8)) }
                        frames.append(frame)
                        if try await isEnough(frames) { throw Enough() }
                    case .binary: break
                    case .closed(let received): code = received
                    }
                }
            } catch is Enough {
                socket.drop()
            }
            return (frames, code)
        }

        static func identify(_ token: String) -> String { #"{"op":2,"d":{"token":"\#(token)"}}"# }

        static func resume(_ token: String, _ session: String, _ last: UInt64) -> String {
            #"{"op":6,"d":{"token":"\#(token)","session_id":"\#(session)","seq":\#(last)}}"#
        }
    }
#endif
