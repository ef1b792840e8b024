public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A reducer with the feature's name and its initial state.
///
/// ```swift
/// struct Score: SessionFeature {
///     static let featureID = "score"
///     struct State: Codable, Sendable, Equatable { var home = 0, away = 0 }
///     enum Event: Codable, Sendable { case home, away }
///     let initialState = State()
///
///     func reduce(state: inout State, event: Event, context: SessionEventContext) {
///         switch event {
///         case .home: state.home += 1
///         case .away: state.away += 1
///         }
///     }
/// }
/// ```
///
/// `State` and `Event` are nested types, or aliases of existing types.
///
/// A feature is its own conflict policy. Implement `shouldApply` to reject events that no longer make sense; the
/// default applies every event.
public protocol SessionFeature: SessionSyncReducer, SessionConflictPolicy {
    /// The feature's name on the wire and in the store. Must be the same on all devices and in all versions of the app.
    static var featureID: String { get }
    /// The state before the first event. Must be the same on every device.
    var initialState: State { get }
    /// The version of the reducer, the policy and the state. Raise it in each version of the app that reduces the same
    /// events to another state. The default is 1. See `SyncedSessionConfiguration.reducerVersion`.
    static var version: Int { get }
}

extension SessionFeature {
    public static var version: Int { 1 }
    @inlinable public func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool { true }
}

/// A session of one feature: a `SyncedSession` with one type argument instead of four.
///
/// ```swift
/// let session = SessionOf<Score>(Score(), sessionID: sessionID, over: transport)
/// session.start()
/// try session.submit(.home)            // applies at once, then is sent
/// session.state.home                   // 1
/// ```
public typealias SessionOf<Feature: SessionFeature> =
    SyncedSession<Feature.State, Feature.Event, Feature, Feature>

extension SyncedSession where Reducer: SessionFeature, ConflictPolicy == Reducer {
    /// Creates an empty session of a feature in memory.
    /// - Parameter configuration: its `reducerVersion` is replaced by the feature's `version`.
    @inlinable
    public convenience init(
        _ feature: Reducer, sessionID: UUID, over transport: any SessionSyncTransport,
        configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) {
        self.init(
            sessionID: sessionID, featureID: Reducer.featureID, transport: transport,
            initialState: feature.initialState, reducer: feature, conflictPolicy: feature,
            configuration: configuration.with(version: Reducer.version), hotPath: SessionHotPath())
    }

    /// Opens a feature's session from the store. If the store has none, creates a session that the store keeps.
    /// - Parameters:
    ///   - store: keeps the session; nil keeps it in memory. One store serves many sessions.
    ///   - configuration: its `reducerVersion` is replaced by the feature's `version`.
    /// - Throws: the errors of the other `open`.
    @inlinable
    public static func open(
        _ feature: Reducer, sessionID: UUID, over transport: any SessionSyncTransport, store: (any SessionStore)?,
        configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) async throws -> SyncedSession {
        try await open(
            sessionID: sessionID, featureID: Reducer.featureID, transport: transport, store: store,
            initialState: feature.initialState, reducer: feature, conflictPolicy: feature,
            configuration: configuration.with(version: Reducer.version), hotPath: SessionHotPath())
    }
}

extension SyncedSessionConfiguration {
    @usableFromInline
    func with(version: Int) -> Self {
        var configuration = self
        configuration.reducerVersion = version
        return configuration
    }
}
