// Elsewhere than on Apple's systems it is compiled with MESH_URLSESSION only, to see that it is right (.ci/run).
#if WebSocket && (canImport(Darwin) || MESH_URLSESSION)
    import Foundation
    import MeshBase
    import MeshMailbox

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// `URLSessionWebSocketTask`, which is all that watchOS has.
    ///
    /// The system ends its connection when it suspends the app; the client dials again when the app is back.
    final class URLSessionMailboxSocket: MailboxSocket {
        private let task: URLSessionWebSocketTask
        private let observer: any MailboxSocketObserver

        private init(_ task: URLSessionWebSocketTask, _ observer: any MailboxSocketObserver) {
            (self.task, self.observer) = (task, observer)
        }

        /// - Parameters:
        ///   - url: `wss:`, or `ws:` on this machine.
        ///   - subprotocol: one of `MailboxFrame.subprotocols`.
        /// - Throws: `URLError` with `badURL`, also for one that would send in clear text.
        static func makeDial(
            _ url: String, subprotocol: String, _ session: URLSession
        ) throws -> MailboxDial {
            guard let url = URL(string: url), (1...65_535).contains(url.port ?? 443),
                url.scheme == "wss" || url.scheme == "ws" && Loopback.contains(url.host ?? "")
            else { throw URLError(.badURL) }
            return { observer in
                let task = session.webSocketTask(with: url, protocols: [subprotocol])
                let socket = URLSessionMailboxSocket(task, observer)
                task.resume()
                // One that is never made ends its reading at once.
                observer.opened(socket)
                Task { await socket.read() }
            }
        }

        func send(_ bytes: [UInt8]) {
            task.send(.data(Data(bytes))) { [task, observer] error in
                if error == nil { observer.flushed(bytes.count) } else { task.cancel() }
            }
        }

        func close() { task.cancel(with: .normalClosure, reason: nil) }
        func drop() { task.cancel() }

        private func read() async {
            while let message = try? await task.receive() {
                guard case .data(let data) = message else {
                    task.cancel()
                    break
                }
                observer.received(Array(data))
            }
            let code = task.closeCode.rawValue
            observer.closed(code == 0 ? nil : UInt16(clamping: code))
        }
    }
#endif
