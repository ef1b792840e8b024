public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshStorage

/// Reads a feature's session from a store, without a transport and without opening the session: for a widget, a
/// complication or an app intent.
///
/// ```swift
/// let store = try SQLiteStore.snapshot(path: path)          // the path of the app's store in the app group
/// let game = try SessionReader(Score(), in: store).read()
/// print(game.state.home, game.age() ?? 0)
/// ```
///
/// The state is the one that the app would show if it were launched with the snapshot. It includes all events that the
/// app had stored by then, even own events that aren't confirmed.
public struct SessionReader<Feature: SessionFeature>: Sendable {
    /// The configuration with which the app opens the session.
    public typealias Configuration = SyncedSessionConfiguration<Feature.State, Feature.Event>

    /// A session of a feature, as the app names it.
    public enum Target: Hashable, Sendable {
        /// The session that a `SharedSession` without an ID opens.
        case shared
        /// The session that the app's `SessionLobby` has followed last.
        case lobby
        /// The session with that ID.
        case id(UUID)
    }

    private let feature: Feature
    private let target: Target
    private let store: any SessionStore
    private let configuration: Configuration

    /// Creates a reader of one session.
    ///
    /// - Parameters:
    ///   - store: a snapshot of the app's store (`SQLiteStore.snapshot`). Several readers of one snapshot read the same
    ///     moment. In a store that a session writes to, a reader might see parts of two moments.
    ///   - configuration: the app's configuration. Needed only if it reads events of other versions (`engine.upcast`).
    public init(
        _ feature: Feature, _ target: Target = .shared, in store: any SessionStore,
        configuration: Configuration = .init()
    ) {
        self.feature = feature
        self.target = target
        self.store = store
        self.configuration = configuration.with(version: Feature.version)
    }

    /// Reads the stored events and reduces them. Blocks: call it off the main thread.
    ///
    /// Complexity: O(bytes of the stored session), with one call of the reducer for each event above the base.
    /// - Throws: `StorageError`: `missing` if the app hasn't begun the session, and the errors of `SyncedSession.open`.
    ///   `SessionSyncError.sessionEnded` for a session that has ended and was erased.
    public func read() throws -> SessionReading<Feature.State> {
        let sessionID = try sessionID
        var archive = try SessionArchive<Feature.State, Feature.Event>(
            store: store, sessionID: sessionID, featureID: Feature.featureID)
        guard let engine = try archive.loadEngine(feature, feature, configuration) else {
            throw missing("the store has no session \(sessionID)")
        }
        return SessionReading(
            sessionID: sessionID, state: engine.state, hasEnded: engine.hasEnded,
            changedAt: engine.store.lastAppliedMetadata?.causalTimestamp)
    }

    private var sessionID: UUID {
        get throws {
            switch target {
            case .shared: return SharedSession<Feature>.sessionID
            case .id(let sessionID): return sessionID
            case .lobby:
                guard let invitation = try SessionInvitation.stored(of: Feature.featureID, in: store) else {
                    throw missing("the store has no lobby")
                }
                return invitation.sessionID
            }
        }
    }

    private func missing(_ what: String) -> StorageError {
        StorageError(
            .missing, "\(what) of '\(Feature.featureID)': the app hasn't begun one with this store; start the app once")
    }
}

/// The content of a session at the moment of a snapshot.
public struct SessionReading<State: Sendable>: Sendable {
    /// The ID of the session.
    public let sessionID: UUID
    /// The feature's state, own events included.
    public let state: State
    /// True if a member has ended the session.
    public let hasEnded: Bool
    /// The moment of the last event that had an effect, by the clock of the device that submitted it; nil before the
    /// first event.
    public let changedAt: Date?

    /// Returns the number of seconds since the last event, at least 0; nil before the first event.
    public func age(at now: Date = Date()) -> TimeInterval? { changedAt.map { max(0, now.timeIntervalSince($0)) } }
}

extension SessionArchive {
    /// Loads the session's engine; nil if the store has none.
    /// - Throws: `StorageError`; `SessionSyncError.tooManySources` for an image that no engine made; `sessionEnded` for
    ///   a session that has ended and was erased.
    mutating func loadEngine<Reducer, Policy>(
        _ reducer: Reducer, _ conflictPolicy: Policy, _ configuration: SyncedSessionConfiguration<State, Event>
    ) throws -> SessionSyncEngine<State, Event, Reducer, Policy>? {
        if let image = try load() {
            return try SessionSyncEngine(
                restoring: image, reducer: reducer, conflictPolicy: conflictPolicy, seed: configuration.randomSeed(),
                options: configuration.engineOptions)
        }
        guard try !SessionTombstones.isMarked(sessionID, of: featureID, in: store) else {
            throw SessionSyncError.sessionEnded
        }
        return nil
    }
}

extension SessionInvitation {
    /// The key under which a lobby keeps the invitation that it follows.
    static func storeKey(of featureID: String) -> String { "\(featureID)/invitation" }

    /// Returns the invitation that a feature's lobby has kept.
    /// - Throws: `StorageError`.
    static func stored(of featureID: String, in store: any SessionStore) throws -> SessionInvitation? {
        guard let bytes = try store.value(for: storeKey(of: featureID)) else { return nil }
        do {
            return try JSONDecoder().decode(SessionInvitation.self, from: Data(bytes))
        } catch {
            throw StorageError(
                .damaged, "the invitation of '\(featureID)' can't be read; the app's next session replaces it",
                cause: error)
        }
    }
}
