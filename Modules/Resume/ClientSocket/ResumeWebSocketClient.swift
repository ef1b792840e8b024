#if WebSocket
    import MeshBase
    public import MeshResume
    import MeshWebSocket

    /// Follows a server's stream over a WebSocket: connects, identifies or resumes, and reconnects when the policy
    /// permits.
    ///
    /// ```swift
    /// let client = try ResumeWebSocketClient(
    ///     "wss://gateway.example.org/", store: FileResumeStore(path: path), token: { await account.token },
    ///     clientProperties: .current
    /// ) { message in
    ///     try await show(message.frame.payload(as: Message.self), alerts: message.reception == .live)
    /// }
    /// try await client.run()
    /// ```
    ///
    /// Messages are handled one at a time. When 64 wait, the client stops reading from the socket. watchOS offers apps
    /// no sockets; use `URLSessionResumeClient` there.
    public final class ResumeWebSocketClient: Sendable {
        /// A new event for the app, passed in order.
        public typealias Message = ResumeMessage

        private let follower: ResumeFollower

        /// The coordinator of this client's session. Observe its `events`, `state` and `currentSnapshot`.
        public var coordinator: SessionCoordinator { follower.coordinator }

        /// Creates a client that connects, resumes and passes each event to `handle`. It starts with `run()`.
        ///
        /// - Parameters:
        ///   - url: A `wss:` URL, or `ws:` on this machine.
        ///   - configuration: The default, `contiguous` and `byApp`, suits this library's gateways. With `byApp` the client
        ///     acknowledges an event when `handle` returns. If `handle` throws, the client drops the connection, and
        ///     the next one brings the event again.
        ///   - encodings: The encodings to offer, best first. A server that supports none of them gets JSON.
        ///   - ready: Receives READY when a session starts, before any event. If it throws, the client drops the
        ///     connection, and calls it again on the next one before any event. READY isn't kept across a relaunch.
        /// - Throws: An error if the URL is invalid or would send in clear text.
        public init(
            _ url: String, store: any ResumeStore, token: @escaping @Sendable () async -> String?,
            clientProperties: ClientProperties,
            configuration: SessionCoordinator.Configuration = .init(sequencing: .contiguous, acknowledgement: .byApp),
            policy: ReconnectPolicy = .init(), encodings: [FrameEncoding] = [.binary, .json],
            ready: @escaping @Sendable (ServerFrame) async throws -> Void = { _ in },
            handle: @escaping @Sendable (Message) async throws -> Void
        ) throws {
            let address = try WebSocketAddress(url)
            let protocols = encodings.map(\.subprotocol)
            follower = ResumeFollower(
                store: store, token: token, clientProperties: clientProperties, configuration: configuration,
                policy: policy, ready: ready, handle: handle
            ) {
                OpenSocket(connection: try await WebSocketDialer.connect(address, protocols: protocols))
            }
        }

        /// Follows the stream until the task is cancelled or the server closes with a fatal code.
        /// - Returns: The fatal code; nil if cancelled.
        public func run() async -> CloseCode? { await follower.run() }
    }

    private struct OpenSocket: ResumeSocket {
        let connection: WebSocketConnection

        var encoding: FrameEncoding { FrameEncoding(subprotocol: connection.subprotocol) }
        func send(_ bytes: [UInt8], isText: Bool) { connection.send(bytes, isText: isText) }
        func close(_ code: CloseCode) { connection.close(code.rawValue) }
        func drop() { connection.drop() }

        func read(_ body: (_ bytes: [UInt8], _ isText: Bool) async -> Void) async -> CloseCode? {
            var end: CloseCode?
            await connection.read { incoming in
                switch incoming {
                case .text(let bytes): await body(bytes, true)
                case .binary(let bytes): await body(bytes, false)
                case .closed(let code): end = code.map(CloseCode.init(rawValue:))
                }
            }
            return end
        }
    }
#endif
