public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A connection over any transport. Make it before the transport starts, so that nothing is missed.
///
/// It is the one reader of envelopes for all features on it: what comes for a feature of the library that has no handler
/// yet waits, with a store also over relaunches. 256 envelopes wait for a feature, of which the oldest then goes, and
/// 64 features; what is dropped is counted, and reported as `deliveryFailed`.
///
/// Safe to use from any thread. Nothing that it starts keeps it alive.
public final class TransportConnection: SessionConnection {
    /// Begins the ids of the library's own features. Others read the transport themselves.
    public static let featurePrefix = "sessionmesh."
    /// The session id of what belongs to no session, such as settings.
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
    /// Locked before `state`, never after it, and by whoever adds a route.
    private let waiting: Locked<WaitingEnvelopes>
    private let reader = OwnedTasks()

    /// - Parameters:
    ///   - sessionID: by default the one scope that all peers without sessions share.
    ///   - store: the features' own; may be the transport's.
    ///   - codecs: those beside the library's own in which payloads come, to read again what the store has kept.
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
                    for envelope in batch { await self?.pass(envelope) }
                }
            }
        ])
    }

    /// Envelopes that waited for a handler in vain.
    public var droppedCount: Int { state.withLock { $0.droppedCount } }

    public func stamp() -> HybridTimestamp {
        let wall = clock.wall.millisecondsSince1970
        return state.withLock { $0.logicalClock.tick(wallMilliseconds: wall) }
    }

    /// Pays no heed to what no clock shows, and beyond the ceiling follows by 65,536 steps a second.
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
        let isFree = waiting.withLock { waiting in
            guard queue(of: featureID) == nil else { return false }
            let queue = EnvelopeQueue(waiting: waiting.take(featureID), handler: handler) { [weak self] entry in
                self?.waiting.withLock { $0.forget(entry) }
            }
            state.withLock { $0.routes[featureID] = queue }
            return true
        }
        guard isFree else { throw .idInUse(id: featureID) }
        return EnvelopeRoute(featureID: featureID) { [weak self] in
            self?.state.withLock { $0.routes[featureID] = nil }
        }
    }

    /// Takes an envelope that has come by another way than the transport's.
    package func pass(_ envelope: AnySessionSyncEnvelope) async {
        let metadata = envelope.metadata
        guard metadata.sessionID == sessionID else { return }
        let feature = metadata.featureID
        if let queue = queue(of: feature) { return await queue.take(envelope) }
        guard feature.hasPrefix(Self.featurePrefix) else { return }
        let (late, dropped) = waiting.withLock { waiting -> (EnvelopeQueue?, AnySessionSyncEnvelope?) in
            if let queue = queue(of: feature) { return (queue, nil) }
            return (nil, waiting.keep(envelope))
        }
        await late?.take(envelope)
        if let dropped { noteDropped(dropped) }
    }

    private func queue(of featureID: String) -> EnvelopeQueue? { state.withLock { $0.routes[featureID] } }

    private func noteDropped(_ envelope: AnySessionSyncEnvelope) {
        state.withLock { $0.droppedCount += 1 }
        let (feature, type) = (envelope.metadata.featureID, envelope.metadata.payloadType)
        let error = ConnectionError.deliveryFailed(reason: "too much waits for '\(feature)', which nobody has made")
        diagnostics.publish(.deliveryFailed(requestType: type, error: error, willRetry: false))
    }
}
