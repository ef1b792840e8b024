public import MeshBase
public import MeshFoundation
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// The part of a connection that shared state, requests and files use to reach other peers.
///
/// To the implementer: everything but the clock must be constant for the life of the connection; `stamp` must exceed every
/// stamp that it has drawn, and every stamp that `observe` has been told of, unless that is so far ahead that the clock does
/// not follow it at once. Called from any thread.
public protocol SessionConnection: AnyObject, Sendable {
    /// The transport that carries the envelopes.
    var transport: any SessionSyncTransport { get }
    /// The scope in which ids on this connection are unique.
    var sessionID: UUID { get }
    /// The store in which features keep what must outlive the process, under names that begin with their feature ID.
    /// The connection keeps messages that wait for a feature under `sessionmesh.connection/`. nil keeps both in memory.
    /// One connection at a time has a store.
    var store: (any SessionStore)? { get }
    /// The topic for the connection's events.
    var diagnostics: Topic<DiagnosticEvent> { get }
    /// The health of the connection, which every sender updates.
    var health: ConnectionHealth { get }
    /// The clock for deadlines and for dates on the wire.
    var clock: any DeliveryClock { get }

    /// A stamp for a change made now.
    func stamp() -> HybridTimestamp
    /// Takes note of a stamp that arrived.
    func observe(_ stamp: HybridTimestamp)
    /// Goes on behind a stamp that was drawn or believed here before the process began.
    func resume(at stamp: HybridTimestamp)

    /// Hands the envelopes of one feature to `handler` from now on, one after another, in the order in which they came;
    /// those that have come before, first. What the handler returns from is done with: it is not offered again after a
    /// crash. It must return soon, since everybody on the connection waits for it.
    /// - Returns: the route, which ends when it is let go.
    /// - Throws: `idInUse` when the feature has a handler.
    func route(
        featureID: String, to handler: @escaping @Sendable (AnySessionSyncEnvelope) async -> Void
    ) throws(ConnectionError) -> EnvelopeRoute

    /// Reserves an id for values of one type, so that two types do not overwrite each other. The same type may claim an id
    /// again.
    /// - Throws: `idInUse`.
    func claim(_ id: String, for type: Any.Type) throws(ConnectionError)

    // MARK: With a default

    /// The mistakes and failures that last, until they are solved: the transport's, then the connection's own. Observable. May be
    /// read on any thread. By default the transport's.
    var problems: [SessionProblem] { get }
}

extension SessionConnection {
    public var problems: [SessionProblem] { transport.problems }
}
