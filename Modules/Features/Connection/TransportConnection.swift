public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A connection over any transport. It subscribes to the transport and then starts it.
///
/// It reads the envelopes of all its features. If a library feature has no handler yet, its envelopes wait; with a
/// store, they wait even across relaunches. At most 256 envelopes wait for each of at most 64 features. Beyond 256, the
/// oldest is dropped. Dropped envelopes are counted and reported as `deliveryFailed`.
///
/// Safe to use from any thread. The tasks that it starts don't keep it alive.
public final class TransportConnection: SessionConnection {
    /// The prefix of the IDs of the library's features. Other features read the transport themselves.
    public static let featurePrefix = "sessionmesh."
    /// The session ID of values that belong to no session, such as settings.
    public static let sharedScope = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    private struct State {
        var logicalClock = PacedClock()
        var routes: [String: EnvelopeQueue] = [:]
        var types: [String: ObjectIdentifier] = [:]
        var droppedCount = 0
    }

    public let transport: any SessionSyncTransport
    public let sessionID: UUID
    public let store: (any SessionStore)?
    public let clock: any DeliveryClock
    public let diagnostics: Topic<DiagnosticEvent>
    public let health: ConnectionHealth
    private let state = Locked(State())
    /// Lock order: `waiting` before `state`. Also locked while a route is added.
    private let waiting: Locked<WaitingEnvelopes>
    private let reader = OwnedTasks()
    /// Problems of the connection itself, such as a transport that can't start.
    package let board = ProblemBoard()

    /// Subscribes to the transport, then starts it. If it can't start, ``problems`` has the reason.
    ///
    /// - Parameters:
    ///   - sessionID: by default ``sharedScope``, which all connections without a session use.
    ///   - store: the store for features. It may be the transport's.
    ///   - codecs: the app's codecs, to read stored envelopes again. The library's codecs are included.
    public init(
        transport: any SessionSyncTransport, sessionID: UUID = TransportConnection.sharedScope,
        store: (any SessionStore)? = nil, clock: any DeliveryClock = SystemClock(), codecs: [any PayloadCodec] = []
    ) {
        self.transport = transport
        self.sessionID = sessionID
        self.store = store
        self.clock = clock
        waiting = Locked(WaitingEnvelopes(store, codecs))
        let diagnostics = Topic<DiagnosticEvent>(bufferLimit: 256)
        self.diagnostics = diagnostics
        health = ConnectionHealth { diagnostics.publish(.healthChanged(from: $0, to: $1)) }
        let batches = transport.envelopeBatches { $0.sessionID == sessionID }
        reader.hold([
            Task { [weak self] in
                while let batch = await batches.next() {
                    // Held until the end of the batch: the transport won't offer these envelopes again.
                    guard let self else { return }
                    for envelope in batch { await pass(envelope) }
                }
            }
        ])
        SharedConnections.add(self)
        board.start(transport)
    }

    /// Returns the connection in ``sharedScope`` over this transport. Creates one without a store if there is none.
    package static func shared(over transport: any SessionSyncTransport & AnyObject) -> TransportConnection {
        SharedConnections.connection(over: transport)
    }

    /// The transport's problems, then those of the connection, such as `transportFailed`.
    public var problems: [SessionProblem] { transport.problems + board.problems }

    /// The number of envelopes that were dropped while they waited for a handler.
    public var droppedCount: Int { state.withLock { $0.droppedCount } }

    public func stamp() -> HybridTimestamp {
        let wall = clock.wall.millisecondsSince1970
        return state.withLock { $0.logicalClock.tick(wallMilliseconds: wall) }
    }

    /// Notes a stamp of a peer. Ignores impossible ones, and follows by at most 65,536 steps a second beyond the ceiling.
    public func observe(_ stamp: HybridTimestamp) {
        let elapsed = clock.elapsed
        state.withLock { $0.logicalClock.observe(stamp, at: elapsed) }
    }

    public func resume(at stamp: HybridTimestamp) { state.withLock { $0.logicalClock.resume(at: stamp) } }

    public func claim(_ id: String, for type: Any.Type) throws(ConnectionError) {
        let isTaken = state.withLock { state in
            let owner = state.types[id, default: ObjectIdentifier(type)]
            state.types[id] = owner
            return owner != ObjectIdentifier(type)
        }
        if isTaken { throw .idInUse(id: id) }
    }
}

// MARK: - Routes

extension TransportConnection {
    public func route(
        featureID: String, to handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void
    ) throws(ConnectionError) -> EnvelopeRoute {
        let backlog = waiting.withLock { waiting -> EnvelopeBacklog? in
            guard queue(of: featureID) == nil else { return nil }
            let queue = EnvelopeQueue(waiting: waiting.take(featureID), handler: handler) { [weak self] entry in
                self?.waiting.withLock { $0.forget(entry) }
            }
            state.withLock { $0.routes[featureID] = queue }
            return queue.backlog
        }
        guard let backlog else { throw .idInUse(id: featureID) }
        return EnvelopeRoute(featureID: featureID) { [weak self] in
            guard let self else {
                _ = backlog.end()
                return
            }
            waiting.withLock { waiting in
                state.withLock { $0.routes[featureID] = nil }
                waiting.putBack(backlog.end(), of: featureID)
            }
        }
    }

    /// Hands an envelope, from the transport or elsewhere, to its feature's handler, or keeps it until there is one.
    package func pass(_ envelope: AnySessionSyncEnvelope) async {
        let metadata = envelope.metadata
        guard metadata.sessionID == sessionID else { return }
        let feature = metadata.featureID
        var queue = queue(of: feature)
        repeat {
            if let queue, await queue.take(envelope) { return }
            guard feature.hasPrefix(Self.featurePrefix) else { return }
            let dropped = waiting.withLock { waiting -> AnySessionSyncEnvelope? in
                queue = self.queue(of: feature)
                return queue == nil ? waiting.keep(envelope) : nil
            }
            if let dropped { noteDropped(dropped) }
        } while queue != nil
    }

    private func queue(of featureID: String) -> EnvelopeQueue? { state.withLock { $0.routes[featureID] } }

    private func noteDropped(_ envelope: AnySessionSyncEnvelope) {
        state.withLock { $0.droppedCount += 1 }
        let (feature, type) = (envelope.metadata.featureID, envelope.metadata.payloadType)
        let error = ConnectionError.deliveryFailed(
            reason: "too many messages wait for '\(feature)'. Create that feature at launch")
        diagnostics.publish(.deliveryFailed(requestType: type, error: error, willRetry: false))
    }
}

/// The first connection in the shared scope over each transport that has one.
private enum SharedConnections {
    private struct Weak {
        weak var connection: TransportConnection?
    }

    /// A connection retains its transport, so an identifier can't be reused while the connection exists.
    private static let all = Locked<[ObjectIdentifier: Weak]>([:])

    static func add(_ connection: TransportConnection) {
        guard connection.sessionID == TransportConnection.sharedScope, type(of: connection.transport) is AnyClass
        else { return }
        let key = ObjectIdentifier(connection.transport as AnyObject)
        all.withLock { all in
            guard all[key]?.connection == nil else { return }
            all = all.filter { $0.value.connection != nil }
            all[key] = Weak(connection: connection)
        }
    }

    /// Returns the same connection to concurrent callers.
    static func connection(over transport: any SessionSyncTransport & AnyObject) -> TransportConnection {
        let key = ObjectIdentifier(transport)
        if let present = all.withLock({ $0[key]?.connection }) { return present }
        let new = TransportConnection(transport: transport)
        return all.withLock { $0[key]?.connection } ?? new
    }
}
