#if WebSocket
    import MeshBase
    public import MeshResume
    import MeshWebSocket

    /// Follows a server's stream over a WebSocket, through every break: connects, identifies or resumes, and comes again when
    /// the policy says so.
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
    /// Messages are handled one after another; of 64 that wait no more is read from the socket. Where there are no sockets, as
    /// on a watch, `URLSessionResumeClient` does the same.
    public final class ResumeWebSocketClient: Sendable {
        /// An event that is new and in its place.
        public typealias Message = ResumeMessage

        private let follower: ResumeFollower

        /// Its `events`, `state` and `currentSnapshot` say how it goes.
        public var coordinator: SessionCoordinator { follower.coordinator }

        /// Creates a client that connects, resumes and passes each event to `handle`. It starts with `run()`.
        ///
        /// - Parameters:
        ///   - url: `wss:`, or `ws:` on this machine.
        ///   - configuration: `contiguous` and `byApp`, as our gateways need. With `byApp` the client acknowledges an event when
        ///     `handle` returns. If `handle` throws, the client drops the connection, and the next one brings the event again.
        ///   - encodings: those that are offered, best first. A server that knows none of them is spoken to in JSON.
        ///   - ready: gets READY when a session begins, before any event. If it throws, the client drops the connection and calls
        ///     it again on the next one, before any event. READY isn't kept over a relaunch.
        /// - Throws: where the URL is none, or would send in clear text.
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

        /// Until the task is cancelled, or the server says that coming again is of no use.
        /// - Returns: the server's fatal code; nil when cancelled.
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
