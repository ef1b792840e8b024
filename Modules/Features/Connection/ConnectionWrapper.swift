public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A connection over another one, under a name of its own. All but `wrapped` is given.
public protocol ConnectionWrapper: SessionConnection {
    /// The connection that does everything; the same one for the life of this one.
    var wrapped: any SessionConnection { get }
}

extension SessionConnection {
    /// The connection that does everything for this one: itself, or what it wraps.
    package var root: any SessionConnection { (self as? any ConnectionWrapper)?.wrapped.root ?? self }
}

extension ConnectionWrapper {
    public var transport: any SessionSyncTransport { wrapped.transport }
    public var sessionID: UUID { wrapped.sessionID }
    public var store: (any SessionStore)? { wrapped.store }
    public var diagnostics: Topic<DiagnosticEvent> { wrapped.diagnostics }
    public var health: ConnectionHealth { wrapped.health }
    public var clock: any DeliveryClock { wrapped.clock }
    public var problems: [SessionProblem] { wrapped.problems }

    public func stamp() -> HybridTimestamp { wrapped.stamp() }
    public func observe(_ stamp: HybridTimestamp) { wrapped.observe(stamp) }
    public func resume(at stamp: HybridTimestamp) { wrapped.resume(at: stamp) }

    public func route(
        featureID: String, to handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void
    ) throws(ConnectionError) -> EnvelopeRoute {
        try wrapped.route(featureID: featureID, to: handler)
    }

    public func claim(_ id: String, for type: Any.Type) throws(ConnectionError) {
        try wrapped.claim(id, for: type)
    }
}
