#if WebSocket
    import MeshMailbox
    import MeshWebSocket
    import NIOCore
    import NIOPosix
    import NIOSSL

    extension GatewayLinkConfiguration {
        /// Returns a function that dials with SwiftNIO, on one event loop.
        /// - Throws: `WebSocketError`.
        func makeDial() throws -> MailboxDial {
            let address = try WebSocketAddress(url)
            let tls = try authoritiesPath.map { path in
                var configuration = TLSConfiguration.makeClientConfiguration()
                do {
                    configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path))
                    return try NIOSSLContext(configuration: configuration)
                } catch {
                    throw WebSocketError(
                        .invalidCertificate, "'\(path)' contains no PEM certificates of authorities", cause: error)
                }
            }
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let subprotocol = subprotocol
            return { observer in
                try await WebSocketDialer.dial(
                    address, tls: tls, protocols: [subprotocol], on: loop
                ) { SocketObserver(observer, subprotocol, loop) }
            }
        }
    }

    private struct NIOMailboxSocket: MailboxSocket {
        let socket: NIOLoopBound<WebSocket>
        let loop: any EventLoop

        func send(_ bytes: [UInt8]) { loop.execute { socket.value.send(bytes, isText: false) } }
        func close() { loop.execute { socket.value.close(1000) } }
        func drop() { loop.execute { socket.value.drop() } }
    }

    /// Forwards a socket's events. Used on the event loop only.
    private final class SocketObserver: WebSocketObserver {
        private let observer: any MailboxSocketObserver
        private let subprotocol: String
        private let loop: any EventLoop

        init(_ observer: any MailboxSocketObserver, _ subprotocol: String, _ loop: any EventLoop) {
            (self.observer, self.subprotocol, self.loop) = (observer, subprotocol, loop)
        }

        func opened(_ socket: WebSocket) {
            observer.opened(NIOMailboxSocket(socket: NIOLoopBound(socket, eventLoop: loop), loop: loop))
        }

        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            guard !isText, socket.subprotocol == subprotocol else { return socket.drop() }
            observer.received(message)
        }

        func flushed(_ count: Int, on socket: WebSocket) { observer.flushed(count) }
        func closed(_ code: UInt16?, _ socket: WebSocket) { observer.closed(code) }
    }
#endif
