public import Foundation
public import MeshEngine
import MeshIdentity
import MeshSeries
public import MeshStorage
public import MeshTransport

extension SyncedSession {
    /// Opens a session from the store. If the store has none, creates a session that the store keeps.
    ///
    /// The state is computed from the stored events, so the reducer and the policy must be the ones that wrote them.
    /// Side effects that weren't marked as done run again after `start`. Loading happens off the main actor.
    /// - Parameter store: keeps the session; nil keeps it in memory. One store serves many sessions.
    /// - Throws: `StorageError`, unless `configuration.storeFailure` lets the session continue without its store.
    ///   `SessionSyncError.tooManySources` for an image that no engine made; `sessionEnded` for a session that has
    ///   ended and was erased.
    @inlinable
    public static func open(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, store: (any SessionStore)?,
        initialState: State, reducer: Reducer, conflictPolicy: ConflictPolicy,
        configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) async throws -> SyncedSession {
        try await open(
            sessionID: sessionID, featureID: featureID, transport: transport, store: store, initialState: initialState,
            reducer: reducer, conflictPolicy: conflictPolicy, configuration: configuration, hotPath: SessionHotPath())
    }

    @usableFromInline
    static func open(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, store: (any SessionStore)?,
        initialState: State, reducer: Reducer, conflictPolicy: ConflictPolicy,
        configuration: SyncedSessionConfiguration<State, Event>,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    ) async throws -> SyncedSession {
        func new() -> SyncedSession {
            SyncedSession(
                sessionID: sessionID, featureID: featureID, transport: transport, initialState: initialState,
                reducer: reducer, conflictPolicy: conflictPolicy, configuration: configuration, hotPath: hotPath)
        }
        guard let store else { return new() }
        let writer = StoreWriter(store)
        let peerID = transport.localPeer.id
        do {
            let (archive, engine, series) = try await writer.perform {
                var archive = try SessionArchive<State, Event>(
                    store: store, sessionID: sessionID, featureID: featureID)
                let engine = try archive.loadEngine(reducer, conflictPolicy, configuration).map {
                    try Self.named($0, peerID, configuration)
                }
                try SessionTombstones.prune(of: featureID, in: store)
                var series = Core.makeSeries(featureID, sessionID, peerID, configuration)
                try series.load(from: store)
                return (archive, engine, series)
            }
            let session =
                engine.map {
                    SyncedSession(
                        restored: $0, transport: transport, configuration: configuration, hotPath: hotPath)
                } ?? new()
            session.keep(in: archive, writer)
            session.core.series = series
            session.storeError = series.damage
            return session
        } catch  where configuration.storeFailure == .continueInMemory && error is StorageError {
            let session = new()
            // The store couldn't be read, so it may hold events under the configured incarnation. Take another one.
            session.turn { $0.leaveStore() }
            session.storeError = error
            return session
        }
    }

    private func keep(in archive: SessionArchive<State, Event>, _ writer: StoreWriter) {
        core.archive = archive
        self.writer = writer
        durability = writer.store.durability
    }

    /// Creates a session in memory that continues from an image.
    /// - Throws: `SessionSyncError.tooManySources` for an image that no engine made.
    @inlinable
    public convenience init(
        restoring image: SessionEngineImage<State, Event>, transport: any SessionSyncTransport, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) throws {
        try self.init(
            restoring: image, transport: transport, reducer: reducer, conflictPolicy: conflictPolicy,
            configuration: configuration, hotPath: SessionHotPath())
    }

    @usableFromInline
    convenience init(
        restoring image: SessionEngineImage<State, Event>, transport: any SessionSyncTransport, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event>,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    ) throws {
        let engine = try Core.Engine(
            restoring: image, reducer: reducer, conflictPolicy: conflictPolicy, seed: configuration.randomSeed(),
            options: configuration.engineOptions)
        self.init(
            restored: try Self.named(engine, transport.localPeer.id, configuration), transport: transport,
            configuration: configuration, hotPath: hotPath)
    }

    /// Returns the engine with this device's present ID, `peerID`. The store may have been written under another ID.
    nonisolated private static func named(
        _ engine: Core.Engine, _ peerID: String, _ configuration: SyncedSessionConfiguration<State, Event>
    ) throws -> Core.Engine {
        if engine.localPeerID == peerID { return engine }
        let random = configuration.randomSeed()
        let source = SessionSource(
            peerID: peerID, incarnation: configuration.incarnation ?? UInt32(truncatingIfNeeded: random >> 32) | 1)
        return try engine.renamed(to: source, seed: random)
    }

    private convenience init(
        restored engine: Core.Engine, transport: any SessionSyncTransport,
        configuration: SyncedSessionConfiguration<State, Event>,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    ) {
        self.init(engine: engine, transport: transport, configuration: configuration, hotPath: hotPath)
        core.indexOwnEvents()
        core.deliveries.accept(through: core.deliveries.changeCount)
        core.queueEffectsDue()
        closeIfOver()
    }

    /// The parts of the session that must outlive the process, for an app that stores them itself.
    ///
    /// Includes the events submitted since the last send. Never open an image that is older than the last send: it is a
    /// restored backup, and the session then needs a new incarnation. Complexity: O(unconfirmed events).
    public var image: SessionEngineImage<State, Event> { core.engine.image }
}
