// On systems other than Apple's, CI compiles this file with MESH_URLSESSION as a check (.ci/run).
#if canImport(Darwin) || MESH_URLSESSION
    public import Foundation
    import MeshBase

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// Follows a server's stream over `URLSessionWebSocketTask`, the only WebSocket API on watchOS. It works like
    /// `ResumeWebSocketClient`, and uses JSON.
    ///
    /// The system ends the connection when it suspends the app. Once the app continues, `run()` reconnects and resumes.
    ///
    /// Messages are read and handled one at a time. A message larger than 1 MiB ends the connection.
    public final class URLSessionResumeClient: Sendable {
        private let follower: ResumeFollower

        /// The coordinator of this client's session. Observe its `events`, `state` and `currentSnapshot`.
        public var coordinator: SessionCoordinator { follower.coordinator }

        /// Creates a client that connects, resumes and passes each event to `handle`. It starts with `run()`.
        ///
        /// - Parameters:
        ///   - url: A `wss:` URL, or `ws:` on this machine.
        ///   - session: The session whose configuration and trust apply. The client doesn't invalidate it.
        ///   - configuration, policy, ready, handle: See `ResumeWebSocketClient`.
        /// - Throws: `URLError` with `badURL`, also if the URL would send in clear text.
        public init(
            _ url: URL, session: URLSession = .shared, store: any ResumeStore,
            token: @escaping @Sendable () async -> String?, clientProperties: ClientProperties,
            configuration: SessionCoordinator.Configuration = .init(sequencing: .contiguous, acknowledgement: .byApp),
            policy: ReconnectPolicy = .init(),
            ready: @escaping @Sendable (ServerFrame) async throws -> Void = { _ in },
            handle: @escaping @Sendable (ResumeMessage) async throws -> Void
        ) throws {
            guard url.scheme == "wss" || url.scheme == "ws" && Loopback.contains(url.host ?? "") else {
                throw URLError(.badURL)
            }
            follower = ResumeFollower(
                store: store, token: token, clientProperties: clientProperties, configuration: configuration,
                policy: policy, ready: ready, handle: handle
            ) {
                let task = session.webSocketTask(with: url, protocols: [FrameEncoding.json.subprotocol])
                task.resume()
                return TaskSocket(task: task)
            }
        }

        /// Follows the stream until the task is cancelled or the server closes with a fatal code.
        /// - Returns: The fatal code; nil if cancelled.
        public func run() async -> CloseCode? { await follower.run() }
    }

    private struct TaskSocket: ResumeSocket {
        let task: URLSessionWebSocketTask

        var encoding: FrameEncoding { .json }

        func send(_ bytes: [UInt8], isText: Bool) {
            let message: URLSessionWebSocketTask.Message =
                isText ? .string(String(decoding: bytes, as: UTF8.self)) : .data(Data(bytes))
            task.send(message) { [task] error in
                if error != nil { task.cancel() }
            }
        }

        func close(_ code: CloseCode) {
            let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code.rawValue))
            task.cancel(with: code ?? .normalClosure, reason: nil)
        }

        func drop() { task.cancel() }

        func read(_ body: (_ bytes: [UInt8], _ isText: Bool) async -> Void) async -> CloseCode? {
            while let message = try? await task.receive() {
                switch message {
                case .string(let text): await body(Array(text.utf8), true)
                case .data(let data): await body(Array(data), false)
                @unknown default: break
                }
            }
            let code = task.closeCode.rawValue
            return code == 0 ? nil : CloseCode(rawValue: UInt16(clamping: code))
        }
    }
#endif
