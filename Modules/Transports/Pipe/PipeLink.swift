public import MeshBase
public import MeshTransport

/// Moves bytes between processes of one machine, over a pair of file descriptors or a Unix socket.
///
/// It has one lane, `stream`. Each connection has its own reading thread and writing thread, so that no blocking call
/// occupies Swift's thread pool. A packet leaves on its sender's thread if the system takes it at once. The writing
/// thread sends the rest, and packets that come in the meantime, in one write. On Darwin it sends everything that goes
/// to a pipe.
///
/// Up to 256 KiB wait for the other side. Then `send` throws `full` until fewer than 128 KiB wait. A packet that is
/// larger than the free space is accepted once nothing waits. A write to a pipe without a reader ends the connection
/// and never the process: the writing thread blocks SIGPIPE for itself, and sockets don't raise it.
///
/// Over descriptors there is one connection, with the address `pipe`, and none after it. Over a Unix socket, the
/// connecting side replaces each connection that ends, after 100 ms doubling to 5 s, with jitter. The addresses are
/// `unix:0` and so on, a new one for each connection. Packets that were accepted but not written when a connection
/// broke are lost.
///
/// A Unix socket connects processes of one effective user. Both sides ask the system for the user at the other end
/// before a byte passes, and reject others, including root's processes. Others must not be able to write to the
/// socket's folder, unless it is sticky like /tmp. The caller is responsible for the safety of descriptors.
///
/// Safe to use from any thread.
public final class PipeLink: TransportLink {
    /// Maximum number of connections at a time over a socket; further ones are closed at once.
    public static let connectionsMax = 16

    /// The time that the other side has to take the last bytes.
    private static let patience = Duration.seconds(1)

    private enum Phase {
        case idle, open, closed
    }

    private struct State {
        var phase = Phase.idle
        /// The observer; nil once the link is closed.
        var observer: (any LinkObserver)?
        /// The descriptors to use; nil once `open` was called.
        var descriptors: Descriptors?
        var keeper: SocketKeeper?
        var streams: [PipeStream] = []
        /// The number of the next connection over a socket.
        var nextNumber = 0
        /// Number of running parts: the keeper and the streams that haven't ended.
        var runningCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The endpoint that the link was created with.
    public let endpoint: PipeEndpoint
    public let lanes: [LinkLane: PayloadLimit] = [.stream: .pipePacket]
    private let refusalTopic = Topic<PipeError>(bufferLimit: 64)
    private let diagnostics: Topic<SessionDiagnosticEvent>?
    private let counters = Locked(PipeStatistics())
    private let state: Locked<State>

    /// Creates a link over descriptors or a Unix socket. It connects once `open` is called.
    ///
    /// - Parameters:
    ///   - seed: the seed of the jitter between connection attempts.
    ///   - diagnostics: receives the rejections of other users' processes.
    /// - Throws: `PipeError` with `badDescriptor`, `invalidPath` or `systemCallFailed`.
    public init(
        _ endpoint: PipeEndpoint, seed: UInt64 = .random(in: 0 ... .max),
        diagnostics: Topic<SessionDiagnosticEvent>? = nil
    ) throws(PipeError) {
        self.endpoint = endpoint
        self.diagnostics = diagnostics
        var state = State()
        switch endpoint {
        case .descriptors(let input, let output, let closes):
            state.descriptors = try Descriptors(input: input, output: output, closes: closes)
        case .listening(let path):
            state.keeper = try SocketKeeper(path: path, role: .listens, seed: seed)
        case .connecting(let path):
            state.keeper = try SocketKeeper(path: path, role: .connects, seed: seed)
        case .meeting(let path):
            state.keeper = try SocketKeeper(path: path, role: .either, seed: seed)
        }
        self.state = Locked(state)
    }

    /// The counters of all connections of the link so far.
    public var statistics: PipeStatistics { counters.withLock { $0 } }

    /// Returns a stream of the errors that keep the link from using its path, one for each attempt: another user's
    /// process connected or listens there, or others may write to the folder. Ends with `close`. 64 errors wait for a
    /// slow reader; then the oldest are dropped.
    public func refusals() -> AsyncStream<PipeError> { refusalTopic.subscribe() }

    /// Returns true: only processes of one user connect here.
    public func isOwn(_ peerID: String) -> Bool { true }

    /// Opens the link and connects it. If it throws because of the path, you can call it again.
    ///
    /// - Throws: `LinkError.closed`; `PipeError` with `alreadyStarted`, `addressInUse`, `otherUser`, `notPrivate`,
    ///   `invalidPath` or `systemCallFailed`.
    public func open(_ observer: any LinkObserver) throws {
        let (descriptors, keeper) = try state.withLock { state in
            switch state.phase {
            case .closed: throw LinkError(.closed)
            case .open:
                throw PipeError(
                    code: .alreadyStarted, message: "`open` was already called on this link", errorNumber: 0)
            case .idle: break
            }
            state.phase = .open
            state.observer = observer
            state.runningCount = state.keeper == nil ? 0 : 1
            defer { state.descriptors = nil }
            return (state.descriptors, state.keeper)
        }
        if let descriptors { try begin("pipe", descriptors) }
        do {
            try keeper?.start(for: self)
        } catch {
            partEnded { state in
                guard state.phase == .open else { return }
                state.phase = .idle
                state.observer = nil
            }
            throw error
        }
    }

    /// Sends a packet on the lane `stream` to a connected peer.
    ///
    /// - Throws: `full`, `unreachable`, `oversized` or `closed`.
    public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        guard packet.lane == .stream else { throw LinkError(.unreachable, "a pipe has no lane '\(packet.lane)'") }
        guard packet.bytes.count <= PayloadLimit.pipePacket.bytes else { throw LinkError(.oversized) }
        let (isOpen, stream) = state.withLock { state in
            (state.phase == .open, state.streams.first { $0.address == address })
        }
        guard isOpen else { throw LinkError(.closed) }
        guard let stream else { throw LinkError(.unreachable) }
        try stream.send(packet.bytes)
    }

    var connections: [PipeStream] { state.withLock { $0.streams } }
    /// True while this side listens for connections.
    var isListening: Bool { state.withLock { $0.keeper }?.isListening ?? false }

    public func disconnect(_ address: LinkAddress) {
        guard let stream = state.withLock({ $0.streams.first { $0.address == address } }) else { return }
        stream.finish()
        Task { [weak stream] in
            try? await Task.sleep(for: Self.patience)
            stream?.interrupt()
        }
    }

    public func close() async { await close(grace: Self.patience) }

    /// - Parameter grace: time after which data that the other side hasn't taken is given up.
    func close(grace: Duration) async {
        let (streams, keeper) = state.withLock { state in
            state.phase = .closed
            state.descriptors = nil
            return (state.streams, state.keeper)
        }
        keeper?.stop()
        for stream in streams { stream.finish() }
        let deadline = Task {
            try await Task.sleep(for: grace)
            for stream in streams { stream.interrupt() }
        }
        await withCheckedContinuation { waiter in
            let hasEnded = state.withLock { state in
                if state.runningCount > 0 { state.waiters.append(waiter) }
                return state.runningCount == 0
            }
            if hasEnded { waiter.resume() }
        }
        deadline.cancel()
        refusalTopic.finish()
        state.withLock { state in
            state.observer = nil
            state.keeper = nil
        }
    }
}

// MARK: - Connections

extension PipeLink {
    /// Makes a connection from a socket, or closes the socket if it can't.
    func adopt(_ descriptor: Int32) -> PipeStream? {
        guard let descriptors = try? Descriptors(input: descriptor, output: descriptor, closes: true) else {
            UnixSocketPath.discard(descriptor)
            return nil
        }
        let address: LinkAddress? = state.withLock { state in
            guard state.streams.count < Self.connectionsMax else { return nil }
            defer { state.nextNumber += 1 }
            return LinkAddress("unix:\(state.nextNumber)")
        }
        guard let address else { return nil }
        return try? begin(address, descriptors)
    }

    /// Reports errors that only a person can fix. A path without a listener is normal.
    func refused(_ error: PipeError) {
        guard error.code == .otherUser || error.code == .notPrivate else { return }
        refusalTopic.publish(error)
        diagnostics?.publish(.rejected(peerID: nil, reason: error.description))
    }

    func serves(_ stream: PipeStream) -> Bool { state.withLock { $0.streams.contains { $0 === stream } } }

    func keeperEnded() { partEnded { $0.keeper = nil } }

    /// - Throws: `LinkError.closed`; `PipeError` with `systemCallFailed`.
    @discardableResult
    private func begin(_ address: LinkAddress, _ descriptors: Descriptors) throws -> PipeStream {
        let stream = try state.withLock { state in
            guard state.phase == .open, let observer = state.observer else { throw LinkError(.closed) }
            let stream = PipeStream(
                address: address, descriptors: descriptors, observer: observer, statistics: counters
            ) { self.ended($0) }
            state.streams.append(stream)
            state.runningCount += 1
            return stream
        }
        try stream.start(descriptors)
        return stream
    }

    private func ended(_ stream: PipeStream) {
        let keeper = state.withLock { state in
            state.streams.removeAll { $0 === stream }
            return state.keeper
        }
        keeper?.wakeUp()
        partEnded { _ in }
    }

    private func partEnded(_ change: (inout State) -> Void) {
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            change(&state)
            state.runningCount -= 1
            guard state.runningCount == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
