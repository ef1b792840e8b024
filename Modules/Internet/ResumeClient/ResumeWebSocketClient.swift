#if WebSocket
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
        private let protocols: [String]
        private let ready: @Sendable (ServerFrame) async throws -> Void
        private let handle: @Sendable (Message) async throws -> Void

        /// - Parameters:
        ///   - url: `wss:`, or `ws:` on this machine.
        ///   - configuration: `contiguous` and `byApp`, as gateways of ours need. With `byApp` an event is acknowledged when
        ///     `handle` has returned; one that throws breaks the connection, and it comes again.
        ///   - encodings: those that are offered, best first. A server that knows none of them is spoken to in JSON.
        ///   - ready: is given READY when a session begins, for what the server's app tells there, before any event. Where it
        ///     throws, the connection is broken, and the next one resumes.
        /// - Throws: where the URL is none, or would send in clear text.
        public init(
            _ url: String, store: any ResumeStore, token: @escaping @Sendable () async -> String?,
            clientProperties: ClientProperties,
            configuration: SessionCoordinator.Configuration = .init(sequencing: .contiguous, acknowledgement: .byApp),
            policy: ReconnectPolicy = .init(), encodings: [FrameEncoding] = [.binary, .json],
            ready: @escaping @Sendable (ServerFrame) async throws -> Void = { _ in },
            handle: @escaping @Sendable (Message) async throws -> Void
        ) throws {
            address = try WebSocketAddress(url)
            self.policy = policy
            (self.ready, self.handle) = (ready, handle)
            protocols = encodings.map(\.subprotocol)
            transport = SocketTransport()
            let requests = TokenRequests(timeout: .bounded(configuration.handshakeTimeout), token)
            coordinator = SessionCoordinator(
                transport: transport, store: store, token: { await requests.token() },
                clientProperties: clientProperties, configuration: configuration)
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
            do { socket = try await WebSocketDialer.connect(address, protocols: protocols) } catch { return end }
            let id = SessionCoordinator.ConnectionID()
            transport.use(socket)
            // The coordinator wants another connection: a zombie, a gap, a handshake without an answer or a token, a
            // session that was refused.
            let watch = Task { [events = coordinator.events] in
                for await event in events {
                    switch event {
                    case .reconnectNeeded, .tokenUnavailable, .sessionInvalidated: socket.drop()
                    default: break
                    }
                }
            }
            await coordinator.connectionDidOpen(id)
            await withTaskCancellationHandler {
                await socket.read { incoming in
                    switch incoming {
                    case .text(let bytes): await self.received(bytes, .json, id, socket, &end)
                    case .binary(let bytes): await self.received(bytes, .binary, id, socket, &end)
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
            _ bytes: [UInt8], _ encoding: FrameEncoding, _ id: SessionCoordinator.ConnectionID,
            _ socket: WebSocketConnection, _ end: inout End
        ) async {
            guard encoding == FrameEncoding(subprotocol: socket.subprotocol),
                let frame = try? ServerFrame(bytes, as: encoding)
            else { return socket.close(CloseCode.decodeError.rawValue) }
            if let wait = frame.retryAfter { end.retryAfter = wait }
            guard let event = frame.event else { return }
            let reception = await coordinator.didReceive(event, on: id)
            switch event {
            case .ready where reception != .stale:
                end.wasLive = true
                do { try await ready(frame) } catch { socket.drop() }
            case .resumed: end.wasLive = true
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

        func sendHandshake(_ request: HandshakeRequest) async throws { try send(ClientFrame(request)) }
        func sendHeartbeat(_ request: HeartbeatRequest) async throws { try send(ClientFrame(request)) }

        private func send(_ frame: ClientFrame) throws {
            guard let socket = socket.withLock({ $0 }) else { throw Closed() }
            let encoding = FrameEncoding(subprotocol: socket.subprotocol)
            socket.send(try frame.encoded(as: encoding), isText: encoding == .json)
        }
    }
#endif
