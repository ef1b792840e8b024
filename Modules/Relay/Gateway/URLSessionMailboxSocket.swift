// On systems other than Apple's, CI compiles this file with MESH_URLSESSION as a check (.ci/run).
#if WebSocket && (canImport(Darwin) || MESH_URLSESSION)
    import Foundation
    import MeshBase
    import MeshMailbox

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A socket over `URLSessionWebSocketTask`, the only WebSocket API on watchOS.
    ///
    /// The system ends the connection when it suspends the app. The client dials again when the app resumes.
    final class URLSessionMailboxSocket: MailboxSocket {
        private let task: URLSessionWebSocketTask
        private let observer: any MailboxSocketObserver

        private init(_ task: URLSessionWebSocketTask, _ observer: any MailboxSocketObserver) {
            (self.task, self.observer) = (task, observer)
        }

        /// - Parameters:
        ///   - url: A `wss:` URL, or `ws:` on this machine.
        ///   - subprotocol: One of `MailboxFrame.subprotocols`.
        /// - Throws: `URLError` with `badURL`, also if the URL would send in clear text.
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
                // If connecting fails, `read` ends at once and reports the end.
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
