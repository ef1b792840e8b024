public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// The part of a connection that shared state, requests and files use to reach other peers.
///
/// Requirements for an implementation: every property but `problems` stays the same object or value. `stamp` exceeds every
/// stamp that it has issued and every stamp that `observe` has received, unless that is too far ahead for the clock to
/// follow at once. Calls may come from any thread.
public protocol SessionConnection: AnyObject, Sendable {
    /// The transport that carries the envelopes.
    var transport: any SessionSyncTransport { get }
    /// The scope in which IDs on this connection are unique.
    var sessionID: UUID { get }
    /// The store for data that must survive the process. Each feature uses names that begin with its ID. The connection
    /// stores messages that wait for a feature under `sessionmesh.connection/`. If nil, features' data and waiting
    /// messages are only in memory. A store belongs to one connection at a time.
    var store: (any SessionStore)? { get }
    /// The topic for the connection's events.
    var diagnostics: Topic<DiagnosticEvent> { get }
    /// The health of the connection, which every sender updates.
    var health: ConnectionHealth { get }
    /// The clock for deadlines and for dates on the wire.
    var clock: any DeliveryClock { get }

    /// Returns a stamp for a change made now.
    func stamp() -> HybridTimestamp
    /// Notes a stamp from a peer, so that `stamp` exceeds it.
    func observe(_ stamp: HybridTimestamp)
    /// Continues after a stamp that an earlier process issued or accepted.
    func resume(at stamp: HybridTimestamp)

    /// Passes the envelopes of one feature to `handler`, one after another, in order of arrival. Envelopes that have
    /// waited come first.
    ///
    /// When the handler returns, the envelope is finished and isn't offered again after a crash. Return soon, because
    /// all features on the connection wait until then.
    ///
    /// - Returns: the route, which ends when it is released.
    /// - Throws: `idInUse` if the feature has a handler.
    func route(
        featureID: String, to handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void
    ) throws(ConnectionError) -> EnvelopeRoute

    /// Reserves an ID for values of one type, so that two types don't overwrite each other. The same type may claim an ID
    /// again.
    /// - Throws: `idInUse`.
    func claim(_ id: String, for type: Any.Type) throws(ConnectionError)

    // MARK: With a default

    /// The unsolved mistakes and lasting failures: the transport's, then the connection's own. Observable, and readable on any
    /// thread. By default, only the transport's.
    var problems: [SessionProblem] { get }
}

extension SessionConnection {
    public var problems: [SessionProblem] { transport.problems }
}
