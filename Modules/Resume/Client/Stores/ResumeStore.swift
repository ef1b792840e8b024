import MeshBase
public import MeshStorage

/// A store that keeps a session across launches. Implement it to store the cursor elsewhere.
///
/// `save` must replace the stored session atomically, or throw and leave it unchanged. `load` must never return a
/// mixture of two sessions. Both may take as long as they need; calls of `save` don't overlap. Errors are reported as
/// `SessionEvent.storageFailed`, and the newest session is saved again after 1 s to 60 s.
public protocol ResumeStore: Sendable {
    /// The time for which a move of the cursor may wait, to be saved together with later moves. The start and end of a
    /// session are saved at once.
    var writeDelay: Duration { get }
    /// Returns the stored session; nil if there is none.
    func load() async throws -> SessionSnapshot?
    /// Saves a session; nil removes it.
    func save(_ snapshot: SessionSnapshot?) async throws
}

extension ResumeStore {
    /// The default delay: 250 ms. After a crash, events from the last 250 ms may come again.
    public var writeDelay: Duration { .milliseconds(250) }
}

/// A store in memory, lost when the process ends.
public actor InMemoryResumeStore: ResumeStore {
    private var snapshot: SessionSnapshot?

    /// Creates a store with an initial session.
    public init(initial: SessionSnapshot? = nil) { snapshot = initial }

    public nonisolated var writeDelay: Duration { .zero }
    public func load() -> SessionSnapshot? { snapshot }
    public func save(_ snapshot: SessionSnapshot?) { self.snapshot = snapshot }
}

/// A store over a `SessionStorage`. It can't replace a session atomically: a crash between its two steps leaves the new
/// session at sequence 0.
public struct SessionStorageAdapter: ResumeStore {
    private let storage: any SessionStorage

    /// Creates a store over a storage of the app.
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

/// A store in one key of a `SessionStore`, such as SQLite or memory. It doesn't close the `SessionStore`.
public struct SessionResumeStore: ResumeStore {
    private let store: any SessionStore
    private let key: String

    /// Creates a store under one key of a `SessionStore`.
    ///
    /// - Parameter key: Use a separate key for each user or server that has its own cursor.
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

/// Runs a blocking closure on a new thread.
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
