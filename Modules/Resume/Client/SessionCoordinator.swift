import MeshBase

/// Tracks a client's position in a server's stream of numbered events. It identifies, resumes after every lost
/// connection, and tells whether each event is new, replayed or a duplicate.
///
/// ```swift
/// let coordinator = SessionCoordinator(
///     transport: socket, store: try FileResumeStore(path: path), token: { await account.token },
///     clientProperties: .current)
/// await coordinator.connectionDidOpen()                              // the socket is open
/// if await coordinator.didReceive(.pushEvent(seq: 7)).isToBeProcessed { show(message) }
/// ```
///
/// The app owns the socket. It opens and closes the socket, and reports arriving frames in order. Calls return once the
/// resulting frames are sent and the session is saved. Exception: a `ResumeStore` may save several moves of the cursor
/// together (`writeDelay`).
///
/// A connection ends for the coordinator when it is closed, replaced, invalidated, dead or cleared. Frames and results
/// that arrive for it later change nothing.
public actor SessionCoordinator {
    /// Identifies a connection, for apps whose old socket may still report frames when the new one is open.
    public struct ConnectionID: Hashable, Sendable {
        private final class Identity: Sendable {}
        private let identity = Identity()

        /// Creates a unique ID.
        public init() {}

        public static func == (left: ConnectionID, right: ConnectionID) -> Bool { left.identity === right.identity }
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
    }

    private let transport: any SessionTransport
    private let store: any ResumeStore
    private let token: @Sendable () async -> String?
    private let time: ResumeTime
    private nonisolated let stream: SessionEventStream
    private var core: ResumeCore
    private var current: ConnectionID?
    private var timer: (due: Duration, task: Task<Void, Never>)?
    private var lastWrite: Task<Void, Never>?

    /// Creates a coordinator with a storage that can't fail.
    ///
    /// - Parameters:
    ///   - storage: Written before `didReceive` returns. It can't fail, so writes aren't retried. For a store that can
    ///     fail, use `init(transport:store:token:clientProperties:configuration:)`.
    ///   - token: Returns the app's token. Called on every connection. If it returns nil, the client stays
    ///     disconnected.
    public init(
        transport: any SessionTransport, storage: any SessionStorage = InMemorySessionStorage(),
        token: @escaping @Sendable () async -> String?, clientProperties: ClientProperties,
        configuration: Configuration = .init()
    ) {
        self.init(
            transport: transport, store: SessionStorageAdapter(storage), token: token,
            clientProperties: clientProperties, configuration: configuration)
    }

    /// Creates a coordinator with a store whose calls can fail.
    ///
    /// - Parameter store: Replaces a session atomically. Failures are reported as `SessionEvent.storageFailed`.
    public init(
        transport: any SessionTransport, store: any ResumeStore, token: @escaping @Sendable () async -> String?,
        clientProperties: ClientProperties, configuration: Configuration = .init()
    ) {
        self.init(
            transport: transport, store: store, token: token, clientProperties: clientProperties,
            configuration: configuration, time: .system, seed: .random(in: 0 ... .max))
    }

    init(
        transport: any SessionTransport, store: any ResumeStore, token: @escaping @Sendable () async -> String?,
        clientProperties: ClientProperties, configuration: Configuration, time: ResumeTime, seed: UInt64
    ) {
        self.transport = transport
        self.store = store
        self.token = token
        self.time = time
        stream = SessionEventStream()
        core = ResumeCore(
            .init(
                configuration: configuration, properties: clientProperties, writeDelay: store.writeDelay),
            seed: seed)
    }

    deinit {
        timer?.task.cancel()
        stream.finish()
    }

    // MARK: - Reports from the app

    /// Reports that the socket is open. Returns once the handshake has been sent, or can't be.
    /// - Parameter connection: Pass the same ID with later reports of this socket, so that frames of an old socket
    ///   aren't attributed to a new one.
    public func connectionDidOpen(_ connection: ConnectionID? = nil) async {
        current = connection
        core.open()
        await performDirectives()
    }

    /// Reports that the socket has closed. Keeps the cursor, and saves it.
    public func connectionDidClose(error: (any Error)? = nil, on connection: ConnectionID? = nil) async {
        guard isCurrent(connection) else { return }
        core.close()
        await performDirectives()
    }

    /// Processes a frame that has arrived.
    /// - Returns: The instruction for the frame's payload.
    @discardableResult
    public func didReceive(_ event: IncomingEvent, on connection: ConnectionID? = nil) async -> Reception {
        guard isCurrent(connection) else { return .stale }
        let reception = core.receive(event, time.elapsed())
        await performDirectives()
        return reception
    }

    /// Acknowledges events up to a sequence, but none after a gap. Ignores a sequence that the present session hasn't
    /// received. Does nothing without `Acknowledgement.byApp`.
    ///
    /// If your app may still process events of a session when another one begins, use `acknowledge(through:in:)`.
    public func acknowledge(through sequence: UInt64) async {
        core.acknowledge(through: sequence, time.elapsed())
        await performDirectives()
    }

    /// Acknowledges events of one session up to a sequence, but none after a gap. Does nothing if another session has
    /// begun meanwhile, or without `Acknowledgement.byApp`.
    /// - Parameter sessionID: The session that the events came in, from `SessionState.live` or `currentSnapshot()`.
    public func acknowledge(through sequence: UInt64, in sessionID: String) async {
        core.acknowledge(through: sequence, in: sessionID, time.elapsed())
        await performDirectives()
    }

    /// Ends the connection, because the app couldn't process an event. Close the socket. The server sends all
    /// unacknowledged events again on the next connection. Without this call, the coordinator would treat them as
    /// duplicates.
    public func retryUnacknowledged(on connection: ConnectionID? = nil) async {
        guard isCurrent(connection) else { return }
        core.retryUnacknowledged()
        await performDirectives()
    }

    /// Ends the session, for a logout. Close the socket: later frames on it are stale. The next connection identifies.
    public func clearSession() async {
        core.clear()
        await performDirectives()
    }

    // MARK: - State and events

    /// The current state of the session.
    public var state: SessionState { core.state }

    /// The events of the coordinator, beginning with the current state. Each access is an independent subscription that
    /// buffers 256 events and drops the oldest.
    public nonisolated var events: AsyncStream<SessionEvent> { stream.subscribe() }

    /// Publishes an event noticed by the owner of the socket.
    nonisolated func publish(_ event: SessionEvent) { stream.publish(event) }

    /// Returns the session that the next connection would resume, or nil.
    public func currentSnapshot() async -> SessionSnapshot? {
        if let snapshot = core.snapshot { return snapshot }
        guard !core.ignoresStoredSession, core.connectionCount == 0 else { return nil }
        return try? await store.load()
    }

    private func isCurrent(_ connection: ConnectionID?) -> Bool {
        connection == nil || current == nil || connection == current
    }
}

// MARK: - Directives

extension SessionCoordinator {
    /// Performs the core's directives. Events are published before the first suspension, so that streams keep the
    /// core's order.
    private func performDirectives() async {
        let directives = core.takeDirectives()
        for case .publish(let event) in directives { stream.publish(event) }
        setTimer()
        var writes: [Task<Void, Never>] = []
        for case .write(let snapshot) in directives { writes.append(write(snapshot)) }
        for directive in directives {
            switch directive {
            case .publish, .write: break
            case .load(let number):
                core.loaded(await stored(), connection: number)
                await performDirectives()
            case .askToken(let number):
                core.tokenReturned(await token(), connection: number, time.elapsed())
                await performDirectives()
            case .sendHandshake(let request, let number):
                core.handshakeReturned(
                    await failure { try await self.transport.sendHandshake(request) }, connection: number)
                await performDirectives()
            case .sendHeartbeat(let request, let number):
                core.heartbeatReturned(
                    await failure { try await self.transport.sendHeartbeat(request) }, connection: number)
                await performDirectives()
            }
        }
        for write in writes { await write.value }
    }

    private func stored() async -> Result<SessionSnapshot?, ResumeError> {
        await lastWrite?.value
        do {
            return .success(try await store.load())
        } catch {
            return .failure(ResumeError(error))
        }
    }

    private func failure(_ send: () async throws -> Void) async -> String? {
        do {
            try await send()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Starts a save that waits for all earlier ones, so that they keep the core's order.
    private func write(_ snapshot: SessionSnapshot?) -> Task<Void, Never> {
        let (before, store) = (lastWrite, store)
        let task = Task {
            await before?.value
            var failure: ResumeError?
            do { try await store.save(snapshot) } catch { failure = ResumeError(error) }
            self.writeFinished(failure)
        }
        lastWrite = task
        return task
    }

    private func writeFinished(_ failure: ResumeError?) {
        core.writeFinished(failure, time.elapsed())
        for case .publish(let event) in core.takeDirectives() { stream.publish(event) }
        setTimer()
    }

    private func setTimer() {
        guard timer?.due != core.deadline else { return }
        timer?.task.cancel()
        timer = core.deadline.map { due in
            let time = time
            return (
                due,
                Task { [weak self] in
                    do { try await time.sleep(due) } catch { return }
                    await self?.timerFired(due)
                }
            )
        }
    }

    /// Runs due work. `timer` is cleared first, because the next timer must not cancel this task.
    private func timerFired(_ due: Duration) async {
        guard timer?.due == due else { return }
        timer = nil
        core.tick(max(due, time.elapsed()))
        await performDirectives()
    }
}
