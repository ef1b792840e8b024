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
    ///
    /// `URLSession` reports sent and received messages on different threads, so their events go through one stream. It
    /// holds one message, and an event for each message that is being sent.
    final class URLSessionMailboxSocket: MailboxSocket {
        private enum Event {
            case received([UInt8])
            case flushed(Int)
        }

        private let task: URLSessionWebSocketTask
        private let events: AsyncStream<Event>.Continuation

        private init(_ task: URLSessionWebSocketTask, _ events: AsyncStream<Event>.Continuation) {
            (self.task, self.events) = (task, events)
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
                let (events, continuation) = AsyncStream<Event>.makeStream()
                let socket = URLSessionMailboxSocket(task, continuation)
                task.resume()
                // If connecting fails, the first `receive` fails, which is reported as the end.
                observer.opened(socket)
                Task { await socket.report(events, to: observer) }
            }
        }

        func send(_ bytes: [UInt8]) {
            task.send(.data(Data(bytes))) { [task, events] error in
                if error == nil { events.yield(.flushed(bytes.count)) } else { task.cancel() }
            }
        }

        func close() { task.cancel(with: .normalClosure, reason: nil) }
        func drop() { task.cancel() }

        /// Reports events one at a time until the stream ends, then the end of the socket.
        private func report(_ incoming: AsyncStream<Event>, to observer: any MailboxSocketObserver) async {
            receive()
            for await event in incoming {
                switch event {
                case .flushed(let count): observer.flushed(count)
                case .received(let bytes):
                    observer.received(bytes)
                    receive()
                }
            }
            let code = task.closeCode.rawValue
            observer.closed(code == 0 ? nil : UInt16(clamping: code))
        }

        /// Asks for the next message. The stream ends if there is none, or it isn't binary.
        private func receive() {
            task.receive { [task, events] result in
                switch result {
                case .success(.data(let data)): events.yield(.received(Array(data)))
                case .success:
                    task.cancel()
                    events.finish()
                case .failure: events.finish()
                }
            }
        }
    }
#endif
