public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshTransport

extension SyncedSession {
    /// A session as `configuration.store` has it, or a new one where it has none.
    ///
    /// The state follows from what is stored, so reducer and policy have to be the ones that wrote it. Side effects that
    /// had not been marked as done run again after `start`.
    /// - Throws: what the store throws; `SessionSyncError.sessionMismatch` or `featureMismatch` when it has another
    ///   session; `tooManySources` for an image that no engine made.
    public static func open(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, initialState: State, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event>
    ) async throws -> SyncedSession {
        guard let image = try await configuration.store?.load() else {
            return SyncedSession(
                sessionID: sessionID, featureID: featureID, transport: transport, initialState: initialState,
                reducer: reducer, conflictPolicy: conflictPolicy, configuration: configuration)
        }
        guard image.head.sessionID == sessionID else { throw SessionSyncError.sessionMismatch }
        guard image.head.featureID == featureID else { throw SessionSyncError.featureMismatch }
        return try SyncedSession(
            restoring: image, transport: transport, reducer: reducer, conflictPolicy: conflictPolicy,
            configuration: configuration)
    }

    /// A session that goes on where an image ended.
    /// - Throws: `SessionSyncError.tooManySources` for an image that no engine made.
    public convenience init(
        restoring image: SessionEngineImage<State, Event>, transport: any SessionSyncTransport, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) throws {
        let engine = try Engine(
            restoring: image, reducer: reducer, conflictPolicy: conflictPolicy, seed: configuration.randomSeed(),
            options: configuration.engineOptions)
        self.init(engine: engine, transport: transport, configuration: configuration)
        indexOwnEvents()
        deliveries.accept(through: image.head.sequence)
        queueEffectsDue()
    }

    /// Everything that outlives the process, for an app that keeps it in a place of its own.
    ///
    /// What was submitted since the last send is in it. An image that is older than what was sent must not be opened:
    /// that is a restored backup, and costs a new name. Complexity: O(events that are not confirmed).
    public var image: SessionEngineImage<State, Event> { engine.image }
}
