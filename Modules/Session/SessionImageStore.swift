import MeshBus
public import MeshEngine

/// Where a session keeps what has to outlive the process. Without one a session lives in memory, and a relaunch joins
/// its peers again as a member that lost its store.
///
/// To the implementer: `save` must be atomic, and must have written durably when it returns, because what the session
/// sends afterwards relies on it. Calls never overlap. Both may be called from any thread.
public protocol SessionImageStore<State, Event>: Sendable {
    associatedtype State: Codable & Sendable
    associatedtype Event: Codable & Sendable

    /// What was saved last; nil when there is nothing.
    func load() async throws -> SessionEngineImage<State, Event>?

    /// - Parameters:
    ///   - image: everything, as it is to be found by the next `load`.
    ///   - changes: what of it differs from the image before, for a store that writes no more than that.
    func save(_ image: SessionEngineImage<State, Event>, changes: SessionPersistence) async throws
}

/// Keeps the last image in memory: for tests, and for a session that is left and opened again within one process.
public final class InMemorySessionImageStore<State, Event>: SessionImageStore
where State: Codable & Sendable, Event: Codable & Sendable {
    private let image: Locked<SessionEngineImage<State, Event>?>

    public init(_ image: SessionEngineImage<State, Event>? = nil) { self.image = Locked(image) }

    public func load() -> SessionEngineImage<State, Event>? { image.withLock { $0 } }

    public func save(_ image: SessionEngineImage<State, Event>, changes: SessionPersistence) {
        self.image.withLock { $0 = image }
    }
}
