#if WebSocket
    import MeshMailbox
    import MeshWebSocket

    /// Forwards each socket's events to the loop of its subprotocol.
    final class SocketReception: WebSocketObserver {
        private let streams: GatewayLoop
        private let mailboxes: MailboxLoop?

        init(_ streams: GatewayLoop, _ mailboxes: MailboxLoop?) {
            (self.streams, self.mailboxes) = (streams, mailboxes)
        }

        private func observer(of socket: WebSocket) -> any WebSocketObserver {
            guard let mailboxes, MailboxFrame.subprotocols.contains(socket.subprotocol ?? "") else { return streams }
            return mailboxes
        }

        func opened(_ socket: WebSocket) { observer(of: socket).opened(socket) }
        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            observer(of: socket).received(message, isText: isText, on: socket)
        }
        func flushed(_ count: Int, on socket: WebSocket) { observer(of: socket).flushed(count, on: socket) }
        func closed(_ code: UInt16?, _ socket: WebSocket) { observer(of: socket).closed(code, socket) }
    }
#endif
