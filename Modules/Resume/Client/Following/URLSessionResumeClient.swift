// Elsewhere than on Apple's systems it is compiled with MESH_URLSESSION only, to see that it is right (.ci/run).
#if canImport(Darwin) || MESH_URLSESSION
    public import Foundation

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// Follows a server's stream over `URLSessionWebSocketTask`, which is all that watchOS has; as `ResumeWebSocketClient` does
    /// over a socket of its own, and in JSON.
    ///
    /// The system ends the connection when it suspends the app. When the app is back, the `run` under way connects again and resumes.
    ///
    /// Messages are handled one after another, and read one at a time. A message larger than 1 MiB ends the connection.
    public final class URLSessionResumeClient: Sendable {
        private let follower: ResumeFollower

        /// Its `events`, `state` and `currentSnapshot` say how it goes.
        public var coordinator: SessionCoordinator { follower.coordinator }

        /// Creates a client that connects, resumes and passes each event to `handle`. It starts with `run()`.
        ///
        /// - Parameters:
        ///   - url: `wss:`, or `ws:` on this machine.
        ///   - session: the session whose configuration and trust count. It isn't invalidated.
        ///   - configuration, policy, ready, handle: as `ResumeWebSocketClient` describes them.
        /// - Throws: `URLError` with `badURL`, also for one that would send in clear text.
        public init(
            _ url: URL, session: URLSession = .shared, store: any ResumeStore,
            token: @escaping @Sendable () async -> String?, clientProperties: ClientProperties,
            configuration: SessionCoordinator.Configuration = .init(sequencing: .contiguous, acknowledgement: .byApp),
            policy: ReconnectPolicy = .init(),
            ready: @escaping @Sendable (ServerFrame) async throws -> Void = { _ in },
            handle: @escaping @Sendable (ResumeMessage) async throws -> Void
        ) throws {
            let isHere = ["localhost", "127.0.0.1", "::1"].contains(url.host ?? "")
            guard url.scheme == "wss" || url.scheme == "ws" && isHere else { throw URLError(.badURL) }
            follower = ResumeFollower(
                store: store, token: token, clientProperties: clientProperties, configuration: configuration,
                policy: policy, ready: ready, handle: handle
            ) {
                let task = session.webSocketTask(with: url, protocols: [FrameEncoding.json.subprotocol])
                task.resume()
                return TaskSocket(task: task)
            }
        }

        /// Until the task is cancelled, or the server says that coming again is of no use.
        /// - Returns: the server's fatal code; nil when cancelled.
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
