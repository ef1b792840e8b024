import MeshBase
public import MeshStorage

/// A store in which a session outlives its process. The plugin point for stores of a cursor.
///
/// To the implementer: `save` replaces what is stored as a whole or throws and leaves it, and `load` never returns a mixture
/// of two. Both may take as long as they need; calls of `save` come one after another. What a store throws is told by
/// `SessionEvent.storageFailed`, and the newest session is saved again later, 1 to 60 seconds.
public protocol ResumeStore: Sendable {
    /// The time that a cursor that has moved may wait to be saved together with its next moves. Sessions that begin or
    /// end are saved at once.
    var writeDelay: Duration { get }
    /// nil when no session is stored.
    func load() async throws -> SessionSnapshot?
    /// nil removes the session.
    func save(_ snapshot: SessionSnapshot?) async throws
}

extension ResumeStore {
    /// 250 ms: what a crash may cost is that events of this time come once more.
    public var writeDelay: Duration { .milliseconds(250) }
}

/// Gone with the process.
public actor InMemoryResumeStore: ResumeStore {
    private var snapshot: SessionSnapshot?

    /// A store that holds `initial`.
    public init(initial: SessionSnapshot? = nil) { snapshot = initial }

    public nonisolated var writeDelay: Duration { .zero }
    public func load() -> SessionSnapshot? { snapshot }
    public func save(_ snapshot: SessionSnapshot?) { self.snapshot = snapshot }
}

/// A `SessionStorage` as a store. It cannot replace a session at once: a crash between its two steps leaves the new session
/// at 0.
public struct SessionStorageAdapter: ResumeStore {
    private let storage: any SessionStorage

    /// Puts a storage of the app's in the place of a store.
    public init(_ storage: any SessionStorage) { self.storage = storage }

    public var writeDelay: Duration { .zero }
    public func load() async -> SessionSnapshot? { await storage.load() }

    public func save(_ snapshot: SessionSnapshot?) async {
        guard let snapshot else { return await storage.clear() }
        let stored = await storage.load()
        let begins = stored?.sessionId != snapshot.sessionId || stored.map { $0.lastSeq > snapshot.lastSeq } ?? false
        if begins { await storage.save(sessionId: snapshot.sessionId) }
        await storage.updateLastSeq(snapshot.lastSeq)
    }
}

/// One key of a `SessionStore`: memory, SQLite, or any other that keeps its rules. The store stays open.
public struct SessionResumeStore: ResumeStore {
    private let store: any SessionStore
    private let key: String

    /// Creates a store under one key of a `SessionStore`.
    ///
    /// - Parameter key: one for each user or server that resumes by itself.
    public init(_ store: any SessionStore, key: String = "resume/session") {
        self.store = store
        self.key = key
    }

    /// Reads the session from the store, or returns nil if there is none.
    ///
    /// - Throws: `ResumeError.Code.damaged`, or `unavailable` with the `StorageError` as its cause.
    public func load() async throws -> SessionSnapshot? {
        try await offPool { try store.value(for: key).map(SessionSnapshot.init(stored:)) }
    }

    public func save(_ snapshot: SessionSnapshot?) async throws {
        var batch = StoreBatch()
        if let snapshot { batch.set(try snapshot.stored(), for: key) } else { batch.removeValue(for: key) }
        let whole = batch
        try await offPool { try store.commit(whole) }
    }
}

/// Runs what may block on a thread of its own.
func offPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try BlockingThread.start {
                continuation.resume(with: Swift.Result { try body() }.mapError(ResumeError.init))
            }
        } catch {
            continuation.resume(throwing: ResumeError(error))
        }
    }
}
