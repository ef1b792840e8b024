#if WebSocket
    import NIOCore
    import NIOEmbedded
    import NIOHTTP1
    import Testing

    @testable import MeshWebSocket

    @Suite struct UpgradeHandlerTests {
        private final class Observer: WebSocketObserver {
            var received: [String] = []

            func opened(_ socket: WebSocket) { socket.send(PreparedMessage(text: Array("hello".utf8))) }
            func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
                received.append(String(decoding: message, as: UTF8.self))
            }
            func flushed(_ count: Int, on socket: WebSocket) {}
            func closed(_ code: UInt16?, _ socket: WebSocket) {}
        }

        private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        private static let version = "Sec-WebSocket-Version: 13\r\n"
        private static let upgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
        /// A masked text frame, "hi".
        private static let frame: [UInt8] = [0x81, 0x82, 1, 2, 3, 4, 0x68 ^ 1, 0x69 ^ 2]

        private static func request(_ line: String = "GET / HTTP/1.1", _ headers: String...) -> [UInt8] {
            Array("\(line)\r\nHost: example.org\r\n\(headers.joined())\r\n".utf8)
        }

        /// - Returns: what a connection with these parts of input answers, and the messages that its socket received.
        private func answer(
            to parts: [[UInt8]], protocols: [String] = ["b", "a"], admits: Bool = true
        ) throws -> (text: String, received: [String], isOpen: Bool) {
            let (channel, observer) = (EmbeddedChannel(), Observer())
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            let flushes = SocketFlushes(on: channel.eventLoop)
            let rules = UpgradeHandler.Rules(
                protocols: protocols, policy: OriginPolicy(isSecure: true), limits: WebSocketLimits(),
                admits: { _ in admits },
                makeSocket: {
                    WebSocket(
                        key: 1, observer, isServer: true, subprotocol: $0, WebSocketLimits(), flushes: flushes)
                })
            try UpgradeHandler.configure(channel, rules)
            var answer: [UInt8] = []
            for part in parts {
                _ = try? channel.writeInbound(ByteBuffer(bytes: part))
                channel.embeddedEventLoop.run()
                while let bytes = try channel.readOutbound(as: ByteBuffer.self) { answer += bytes.readableBytesView }
            }
            let isOpen = channel.isActive
            _ = try? channel.finish(acceptAlreadyClosed: true)
            return (String(decoding: answer, as: UTF8.self), observer.received, isOpen)
        }

        @Test func `An upgrade and the frame after it may arrive in any two parts`() throws {
            let bytes = Self.request("GET / HTTP/1.1", Self.upgrade, Self.key, Self.version) + Self.frame
            for cut in 0...bytes.count {
                let (text, received, isOpen) = try answer(to: [Array(bytes[..<cut]), Array(bytes[cut...])])
                #expect(text.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"), "cut at \(cut): \(text)")
                // The accept key of RFC 6455, 1.3.
                #expect(text.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
                #expect(text.hasSuffix("hello"), "cut at \(cut): \(text)")
                #expect(received == ["hi"] && isOpen, "cut at \(cut)")
            }
        }

        @Test func `The server's best subprotocol that the client offers is chosen`() throws {
            func agreed(_ offered: String) throws -> Bool {
                try answer(to: [
                    Self.request(
                        "GET / HTTP/1.1", Self.upgrade, Self.key, Self.version, "Sec-WebSocket-Protocol: \(offered)\r\n"
                    )
                ]).text.contains("Sec-WebSocket-Protocol: b\r\n")
            }
            #expect(try agreed("a, b"))
            #expect(try !agreed("a"))
            #expect(try !agreed("c"))
        }

        @Test(arguments: [
            ("GET / HTTP/1.1", key + version, "426"), ("GET / HTTP/1.1", upgrade + key, "426"),
            ("GET / HTTP/1.1", upgrade + key + "Sec-WebSocket-Version: 8\r\n", "426"),
            ("GET / HTTP/1.1", upgrade + version, "400"), ("POST / HTTP/1.1", upgrade + key + version, "426"),
            ("GET / HTTP/1.0", upgrade + key + version, "426"),
            ("GET / HTTP/1.1", upgrade + key + version + "Origin: https://evil.example\r\n", "403"),
            ("GET / HTTP/1.1", upgrade + key + version + "Host: other.example\r\n", "400"),
        ])
        func `A request that isn't a permitted upgrade is refused, and its connection closed`(
            line: String, headers: String, status: String
        ) throws {
            let (text, received, isOpen) = try answer(to: [Self.request(line, headers) + Self.frame])
            #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(text)")
            #expect(text.contains("\r\nSec-WebSocket-Version: 13\r\n"))
            #expect(received.isEmpty && !isOpen)
        }

        @Test func `A client with too many connections, and bytes that aren't HTTP, are refused`() throws {
            let request = Self.request("GET / HTTP/1.1", Self.upgrade, Self.key, Self.version)
            #expect(try answer(to: [request], admits: false).text.hasPrefix("HTTP/1.1 426 "))
            let (text, _, isOpen) = try answer(to: [[0, 1, 2, 13, 10]])
            #expect(text.isEmpty && !isOpen)
        }
    }
#endif
