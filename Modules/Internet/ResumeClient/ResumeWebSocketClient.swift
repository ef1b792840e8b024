#if WebSocket
    import Foundation
    import MeshBus
    public import MeshResume
    import MeshWebSocket

    /// Follows a server's stream over a WebSocket, through every break: connects, identifies or resumes, and comes again when
    /// the policy says so.
    ///
    /// ```swift
    /// let client = try ResumeWebSocketClient(
    ///     "wss://gateway.example.org/", store: store, token: { await account.token }, clientProperties: .current
    /// ) { message in
    ///     try await show(message.frame.payload(as: Message.self), alerts: message.reception == .live)
    /// }
    /// try await client.run()
    /// ```
    ///
    /// Messages are handled one after another; of 64 that wait no more is read from the socket.
    public final class ResumeWebSocketClient: Sendable {
        /// An event that is new and in its place.
        public struct Message: Sendable {
            public let sequence: UInt64
            public let frame: ServerFrame
            public let reception: Reception
        }

        /// Its `events`, `state` and `currentSnapshot` say how it goes.
        public let coordinator: SessionCoordinator
        private let address: WebSocketAddress
        private let policy: ReconnectPolicy
        private let transport: SocketTransport
        private let handle: @Sendable (Message) async throws -> Void

        /// - Parameters:
        ///   - url: `wss:`, or `ws:` on this machine.
        ///   - configuration: `contiguous` and `byApp`, as gateways of ours need. With `byApp` an event is acknowledged when
        ///     `handle` has returned; one that throws breaks the connection, and it comes again.
        /// - Throws: where the URL is none, or would send in clear text.
        public init(
            _ url: String, store: any ResumeStore, token: @escaping @Sendable () async -> String?,
            clientProperties: ClientProperties,
            configuration: SessionCoordinator.Configuration = .init(sequencing: .contiguous, acknowledgement: .byApp),
            policy: ReconnectPolicy = .init(), handle: @escaping @Sendable (Message) async throws -> Void
        ) throws {
            address = try WebSocketAddress(url)
            self.policy = policy
            self.handle = handle
            transport = SocketTransport()
            coordinator = SessionCoordinator(
                transport: transport, store: store, token: token, clientProperties: clientProperties,
                configuration: configuration)
        }

        /// Until the task is cancelled, or the server says that coming again is of no use.
        /// - Returns: the server's fatal code; nil when cancelled.
        public func run() async -> CloseCode? {
            var policy = policy
            while !Task.isCancelled {
                let end = await connection()
                if end.wasLive { policy.reset() }
                guard let wait = policy.delay(after: end.code, atLeast: end.retryAfter) else { return end.code }
                try? await Task.sleep(for: wait)
            }
            return nil
        }

        private struct End: Sendable {
            var code: CloseCode?
            var retryAfter = Duration.zero
            var wasLive = false
        }

        /// One connection, from its beginning to its end.
        private func connection() async -> End {
            var end = End()
            let socket: WebSocketConnection
            do { socket = try await WebSocketDialer.connect(address) } catch { return end }
            let id = SessionCoordinator.ConnectionID()
            transport.use(socket)
            // The coordinator wants another connection: a zombie, a gap, a handshake without an answer.
            let watch = Task { [events = coordinator.events] in
                for await case .reconnectNeeded in events { socket.drop() }
            }
            await coordinator.connectionDidOpen(id)
            await withTaskCancellationHandler {
                await socket.read { incoming in
                    switch incoming {
                    case .text(let bytes): await self.received(bytes, id, socket, &end)
                    case .binary: socket.close(CloseCode.decodeError.rawValue)
                    case .closed(let code): end.code = code.map(CloseCode.init(rawValue:))
                    }
                }
            } onCancel: {
                socket.close()
            }
            watch.cancel()
            transport.use(nil)
            await coordinator.connectionDidClose(on: id)
            return end
        }

        private func received(
            _ bytes: [UInt8], _ id: SessionCoordinator.ConnectionID, _ socket: WebSocketConnection, _ end: inout End
        ) async {
            guard let frame = try? ServerFrame(json: bytes) else { return socket.close(CloseCode.decodeError.rawValue) }
            if let wait = frame.retryAfter { end.retryAfter = wait }
            guard let event = frame.event else { return }
            let reception = await coordinator.didReceive(event, on: id)
            switch event {
            case .ready, .resumed: end.wasLive = true
            case .pushEvent(let sequence) where reception.isToBeProcessed:
                do {
                    try await handle(Message(sequence: sequence, frame: frame, reception: reception))
                    await coordinator.acknowledge(through: sequence)
                } catch {
                    socket.drop()
                }
            default: break
            }
        }
    }

    /// The socket that is open now.
    private final class SocketTransport: SessionTransport {
        private struct Closed: Error {}

        private let socket = Locked<WebSocketConnection?>(nil)

        func use(_ socket: WebSocketConnection?) { self.socket.withLock { $0 = socket } }

        func sendHandshake(_ request: HandshakeRequest) async throws { try send(ClientFrame(request).json()) }
        func sendHeartbeat(_ request: HeartbeatRequest) async throws { try send(ClientFrame(request).json()) }

        private func send(_ frame: Data) throws {
            guard let socket = socket.withLock({ $0 }) else { throw Closed() }
            socket.send(text: Array(frame))
        }
    }
#endif
