/// A session of a server, and the last event that this client has processed.
public struct SessionSnapshot: Codable, Hashable, Sendable {
    /// The session, as the server named it.
    public let sessionId: String
    /// The last event that the client has processed.
    public let lastSeq: UInt64

    /// Creates a snapshot of a session.
    public init(sessionId: String, lastSeq: UInt64) {
        self.sessionId = sessionId
        self.lastSeq = lastSeq
    }
}

/// A store for a session, whose methods can't fail. A `ResumeStore` can report failures, and replaces a session
/// atomically.
public protocol SessionStorage: Sendable {
    /// Returns the stored session, or nil if there is none.
    func load() async -> SessionSnapshot?
    /// Stores a new session, with `lastSeq` 0.
    func save(sessionId: String) async
    /// Stores the last sequence number, which only increases. Does nothing if no session is stored.
    func updateLastSeq(_ lastSeq: UInt64) async
    /// Removes the stored session.
    func clear() async
}

/// A storage in memory, lost when the process ends.
public actor InMemorySessionStorage: SessionStorage {
    private var snapshot: SessionSnapshot?

    /// Creates a storage with an initial session.
    public init(initial: SessionSnapshot? = nil) { snapshot = initial }

    public func load() -> SessionSnapshot? { snapshot }
    public func save(sessionId: String) { snapshot = SessionSnapshot(sessionId: sessionId, lastSeq: 0) }

    public func updateLastSeq(_ lastSeq: UInt64) {
        guard let stored = snapshot, lastSeq > stored.lastSeq else { return }
        snapshot = SessionSnapshot(sessionId: stored.sessionId, lastSeq: lastSeq)
    }

    public func clear() { snapshot = nil }
}
