import MeshBase

/// Keeps a client's place in a server's stream of numbered events: identifies, resumes after every break, and says of each
/// event whether it is new, replayed or known.
///
/// ```swift
/// let coordinator = SessionCoordinator(
///     transport: socket, store: try FileResumeStore(path: path), token: { await account.token },
///     clientProperties: .current)
/// await coordinator.connectionDidOpen()                              // the socket is open
/// if await coordinator.didReceive(.pushEvent(seq: 7)).isToBeProcessed { show(message) }
/// ```
///
/// The app owns the socket: it opens and closes it, and reports what arrives in the order in which it arrives. Calls return
/// when what they cause has been sent and written, except for moves of the cursor, which a `ResumeStore` may have written
/// together (`writeDelay`). A connection is over for the coordinator when it is closed, replaced by another, invalidated,
/// a zombie, or cleared: nothing that returns or arrives late for it changes anything.
public actor SessionCoordinator {
    /// Tells connections apart, for apps whose old socket may still speak when the new one is open.
    public struct ConnectionID: Hashable, Sendable {
        private final class Identity: Sendable {}
        private let identity = Identity()

        /// Another one than every other.
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
    ///   - storage: written before `didReceive` returns; what cannot fail cannot be tried again either. See
    ///     `init(transport:store:token:clientProperties:configuration:)`.
    ///   - token: asked on every connection; nil leaves the client disconnected.
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
    /// - Parameter store: replaces a session at once, and may fail: `SessionEvent.storageFailed`.
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

    // MARK: - What the app tells

    /// The socket is open. Returns when the handshake has been sent, or will not be.
    /// - Parameter connection: given here, and with what the socket does later, it keeps an old socket from speaking for a
    ///   new one.
    public func connectionDidOpen(_ connection: ConnectionID? = nil) async {
        current = connection
        core.open()
        await carryOut()
    }

    /// The socket has closed. The cursor is kept, and written.
    public func connectionDidClose(error: (any Error)? = nil, on connection: ConnectionID? = nil) async {
        guard isCurrent(connection) else { return }
        core.close()
        await carryOut()
    }

    /// A frame has arrived.
    /// - Returns: what to do with its payload.
    @discardableResult
    public func didReceive(_ event: IncomingEvent, on connection: ConnectionID? = nil) async -> Reception {
        guard isCurrent(connection) else { return .stale }
        let reception = core.receive(event, time.elapsed())
        await carryOut()
        return reception
    }

    /// The app needs no event up to this one any more (`Acknowledgement.byApp`; else it does nothing). What has not come in
    /// order does not count.
    public func acknowledge(through sequence: UInt64) async {
        core.acknowledge(through: sequence, time.elapsed())
        await carryOut()
    }

    /// Ends the connection, because the app couldn't process an event. Close the socket. The next connection brings every event again
    /// that the app hasn't acknowledged; without this call, the coordinator treats those as duplicates, as the app still has them.
    public func retryUnacknowledged(on connection: ConnectionID? = nil) async {
        guard isCurrent(connection) else { return }
        core.retryUnacknowledged()
        await carryOut()
    }

    /// Ends the session for a logout. The next connection identifies, and anything more on the current one is stale.
    /// Close it.
    public func clearSession() async {
        core.clear()
        await carryOut()
    }

    // MARK: - What the app asks

    /// The current state of the session.
    public var state: SessionState { core.state }

    /// A stream of its own for each call, which begins with the current state. Of a subscriber that is 256 events behind, the
    /// oldest go.
    public nonisolated var events: AsyncStream<SessionEvent> { stream.subscribe() }

    /// Publishes an event that the owner of the socket has noticed.
    nonisolated func tell(_ event: SessionEvent) { stream.publish(event) }

    /// Returns the session from which the next connection would resume, or nil.
    public func currentSnapshot() async -> SessionSnapshot? {
        if let snapshot = core.snapshot { return snapshot }
        guard !core.storedIsVoid, core.connectionCount == 0 else { return nil }
        return try? await store.load()
    }

    private func isCurrent(_ connection: ConnectionID?) -> Bool {
        connection == nil || current == nil || connection == current
    }
}

// MARK: - Carrying out

extension SessionCoordinator {
    /// Everything is told before anything is waited for, so that streams have the core's order.
    private func carryOut() async {
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
                await carryOut()
            case .askToken(let number):
                core.tokenReturned(await token(), connection: number, time.elapsed())
                await carryOut()
            case .sendHandshake(let request, let number):
                core.handshakeReturned(
                    await failure { try await self.transport.sendHandshake(request) }, connection: number)
                await carryOut()
            case .sendHeartbeat(let request, let number):
                core.heartbeatReturned(
                    await failure { try await self.transport.sendHeartbeat(request) }, connection: number)
                await carryOut()
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

    /// One after another, in the order in which the core asked.
    private func write(_ snapshot: SessionSnapshot?) -> Task<Void, Never> {
        let (before, store) = (lastWrite, store)
        let task = Task {
            await before?.value
            var failure: ResumeError?
            do { try await store.save(snapshot) } catch { failure = ResumeError(error) }
            self.wrote(failure)
        }
        lastWrite = task
        return task
    }

    private func wrote(_ failure: ResumeError?) {
        core.wrote(failure, time.elapsed())
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
                    await self?.timeHasCome(due)
                }
            )
        }
    }

    /// What is sent now is not cancelled by the next timer.
    private func timeHasCome(_ due: Duration) async {
        guard timer?.due == due else { return }
        timer = nil
        core.tick(max(due, time.elapsed()))
        await carryOut()
    }
}
