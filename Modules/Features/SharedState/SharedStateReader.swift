public import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
public import MeshStorage

/// Reads a shared value from a store, without a connection: for a widget, a complication or an app intent.
///
/// ```swift
/// let store = try SQLiteStore.snapshot(path: path)          // the path of the app's store in the app group
/// let settings = try SharedStateReader(initialValue: Settings(), in: store).read()
/// print(settings.value.volume)
/// ```
public struct SharedStateReader<State: Codable & Sendable & Equatable>: Sendable {
    private let initialValue: State
    private let featureID: String
    private let sessionID: UUID
    private let merge: SharedStateMerge<State>
    private let decoder: JSONDecoder?
    private let store: any SessionStore

    /// Creates a reader of one value. All arguments are those of the app's `SharedState`.
    ///
    /// - Parameters:
    ///   - sessionID: the session of the app's connection; nil for a connection without a session.
    ///   - store: a snapshot of the app's store (`SQLiteStore.snapshot`). Several readers of one snapshot read the same
    ///     moment.
    public init(
        initialValue: State, id: String? = nil, sessionID: UUID? = nil, merge: SharedStateMerge<State> = .whole,
        decoder: JSONDecoder? = nil, in store: any SessionStore
    ) {
        self.initialValue = initialValue
        featureID = StateArchive.featureID(id ?? TypeName.nested(State.self))
        self.sessionID = sessionID ?? TransportConnection.sharedScope
        self.merge = merge
        self.decoder = decoder
        self.store = store
    }

    /// Reads the newest stored value. Blocks: call it off the main thread.
    ///
    /// - Throws: `StorageError`: `unreadableState` if the stored value can't be decoded, `damaged`, `newerSchema`, and the
    ///   store's own errors.
    public func read() throws -> SharedStateReading<State> {
        guard var archive = try StateArchive.stored(featureID, sessionID, in: store) else {
            return SharedStateReading(value: initialValue, changedAt: nil)
        }
        _ = archive.repair(as: "")
        let register = archive.register(as: merge.kind)
        let coder = StateCoder(initialValue: initialValue, merge: merge, encoder: nil, decoder: decoder)
        let value: State
        switch coder.reading(of: register) {
        case .nothing: value = initialValue
        case .value(let merged, _, _): value = merged
        case .fallback(let fallback?, _): value = fallback
        case .fallback(nil, let error), .unreadable(let error):
            throw StorageError(
                .unreadableState, "the stored value of '\(featureID)' can't be read as \(State.self); update the app",
                cause: error)
        }
        return SharedStateReading(value: value, changedAt: register.newest?.stamp.date)
    }
}

/// A shared value at the moment of a snapshot.
public struct SharedStateReading<State: Sendable>: Sendable {
    /// The value that the app would show.
    public let value: State
    /// The moment of the newest change, by the clocks of the devices; nil before the first change.
    public let changedAt: Date?

    /// Returns the number of seconds since the newest change, at least 0; nil before the first change.
    public func age(at now: Date = Date()) -> TimeInterval? { changedAt.map { max(0, now.timeIntervalSince($0)) } }
}

extension StateArchive {
    /// Returns the name of a state among the features of its connection.
    static func featureID(_ id: String) -> String { "sessionmesh.state/\(id)" }

    /// Returns the key of a state's value in a store.
    static func storeKey(_ featureID: String, _ sessionID: UUID) -> String { "\(featureID)/\(sessionID.uuidString)" }

    /// Loads a state; nil if the store has none.
    /// - Throws: `StorageError`.
    static func stored(_ featureID: String, _ sessionID: UUID, in store: any SessionStore) throws -> StateArchive? {
        try store.value(for: storeKey(featureID, sessionID)).map(StateArchive.init)
    }
}

extension HybridTimestamp {
    /// The time of the stamp; nil for stamps that no clock gave.
    fileprivate var date: Date? {
        self == .zero ? nil : Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
    }
}
