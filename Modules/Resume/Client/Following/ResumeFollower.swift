import MeshBase

/// Follows a server's stream over one socket after another: connects, identifies or resumes, and reconnects when the
/// policy permits. `ResumeWebSocketClient` and `URLSessionResumeClient` are built on it.
package final class ResumeFollower: Sendable {
    package typealias Connect = @Sendable () async throws -> any ResumeSocket

    package let coordinator: SessionCoordinator
    private let policy: ReconnectPolicy
    private let transport: SocketTransport
    private let connect: Connect
    private let ready: @Sendable (ServerFrame) async throws -> Void
    private let handle: @Sendable (ResumeMessage) async throws -> Void
    /// The READY frame that the app's `ready` closure hasn't handled yet; nil if there is none.
    private let untakenReady = Locked<ServerFrame?>(nil)

    package init(
        store: any ResumeStore, token: @escaping @Sendable () async -> String?, clientProperties: ClientProperties,
        configuration: SessionCoordinator.Configuration, policy: ReconnectPolicy,
        ready: @escaping @Sendable (ServerFrame) async throws -> Void,
        handle: @escaping @Sendable (ResumeMessage) async throws -> Void, connect: @escaping Connect
    ) {
        self.policy = policy
        self.connect = connect
        (self.ready, self.handle) = (ready, handle)
        transport = SocketTransport()
        let requests = TokenRequests(timeout: .bounded(configuration.handshakeTimeout), token)
        coordinator = SessionCoordinator(
            transport: transport, store: store, token: { await requests.token() }, clientProperties: clientProperties,
            configuration: configuration)
    }

    /// Follows the stream until the task is cancelled or the server closes with a fatal code.
    /// - Returns: The fatal code; nil if cancelled.
    package func run() async -> CloseCode? {
        var policy = policy
        while !Task.isCancelled {
            let began = ContinuousClock.now
            let end = await connection()
            if end.wasLive { policy.reset(after: ContinuousClock.now - began) }
            guard let wait = policy.delay(after: end.code, atLeast: end.retryAfter) else { return end.code }
            // An earlier process on this device can cause a single replacement.
            if end.code == .sessionTimedOut, policy.replacedCount >= 2 { coordinator.publish(.cursorShared) }
            try? await Task.sleep(for: wait)
        }
        return nil
    }

    private struct End: Sendable {
        var code: CloseCode?
        var retryAfter = Duration.zero
        var wasLive = false
    }

    /// Opens a connection, and runs it to its end.
    private func connection() async -> End {
        var end = End()
        let socket: any ResumeSocket
        do { socket = try await connect() } catch { return end }
        let id = SessionCoordinator.ConnectionID()
        transport.use(socket)
        // Drops the socket when the coordinator needs another connection: the socket is dead, events are missing, there
        // is no token or answer to the handshake, or the server refused the session.
        let watch = Task { [events = coordinator.events] in
            for await event in events {
                switch event {
                case .reconnectNeeded, .tokenUnavailable, .sessionInvalidated: socket.drop()
                default: break
                }
            }
        }
        await coordinator.connectionDidOpen(id)
        end.code = await withTaskCancellationHandler {
            await socket.read { bytes, isText in
                await self.received(bytes, isText ? .json : .binary, id, socket, &end)
            }
        } onCancel: {
            socket.close(CloseCode(rawValue: 1000))
        }
        watch.cancel()
        transport.use(nil)
        await coordinator.connectionDidClose(on: id)
        return end
    }

    private func received(
        _ bytes: [UInt8], _ encoding: FrameEncoding, _ id: SessionCoordinator.ConnectionID, _ socket: any ResumeSocket,
        _ end: inout End
    ) async {
        guard encoding == socket.encoding, let frame = try? ServerFrame(bytes, as: encoding) else {
            return socket.close(.decodeError)
        }
        if let wait = frame.retryAfter { end.retryAfter = wait }
        guard let event = frame.event else { return }
        let reception = await coordinator.didReceive(event, on: id)
        switch event {
        case .ready where reception != .stale:
            untakenReady.withLock { $0 = frame }
            end.wasLive = await orDrop(socket, id) { try await self.takeReady() }
        case .resumed where reception != .stale:
            end.wasLive = await orDrop(socket, id) { try await self.takeReady() }
        case .pushEvent(let sequence) where reception.isToBeProcessed:
            end.wasLive = await orDrop(socket, id) {
                try await self.handle(ResumeMessage(sequence: sequence, frame: frame, reception: reception))
                await self.coordinator.acknowledge(through: sequence)
            }
        default: break
        }
    }

    private func takeReady() async throws {
        guard let frame = untakenReady.withLock({ $0 }) else { return }
        try await ready(frame)
        untakenReady.withLock { $0 = nil }
    }

    /// Runs a closure of the app. If it throws, the client drops the connection, and the server sends all
    /// unacknowledged events again on the next one. Such a connection doesn't reset the reconnect delay. Otherwise a
    /// closure that always throws would make the client reconnect all the time.
    /// - Returns: True if the closure returned without an error.
    private func orDrop(
        _ socket: any ResumeSocket, _ id: SessionCoordinator.ConnectionID, _ body: @Sendable () async throws -> Void
    ) async -> Bool {
        do {
            try await body()
            return true
        } catch {
            socket.drop()
            await coordinator.retryUnacknowledged(on: id)
            return false
        }
    }
}

/// Sends through the socket that is currently open.
private final class SocketTransport: SessionTransport {
    private struct Closed: Error {}

    private let socket = Locked<(any ResumeSocket)?>(nil)

    func use(_ socket: (any ResumeSocket)?) { self.socket.withLock { $0 = socket } }

    func sendHandshake(_ request: HandshakeRequest) async throws { try send(ClientFrame(request)) }
    func sendHeartbeat(_ request: HeartbeatRequest) async throws { try send(ClientFrame(request)) }

    private func send(_ frame: ClientFrame) throws {
        guard let socket = socket.withLock({ $0 }) else { throw Closed() }
        socket.send(try frame.encoded(as: socket.encoding), isText: socket.encoding == .json)
    }
}
