public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A connection that forwards to another one, to add its own API. You only implement `wrapped`.
public protocol ConnectionWrapper: SessionConnection {
    /// The connection to forward to. Must not change.
    var wrapped: any SessionConnection { get }
}

extension SessionConnection {
    /// The innermost connection: the wrapped one, or this one if it wraps none.
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
