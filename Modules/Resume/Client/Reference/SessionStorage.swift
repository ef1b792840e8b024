/// A session of a server's, and the last of its events that this client needs no more.
public struct SessionSnapshot: Codable, Hashable, Sendable {
    /// The session, as the server named it.
    public let sessionId: String
    /// The last event that the client needs no more.
    public let lastSeq: UInt64

    /// A session and a place in it.
    public init(sessionId: String, lastSeq: UInt64) {
        self.sessionId = sessionId
        self.lastSeq = lastSeq
    }
}

/// A store in which a session outlives its process, in steps that can't fail. The steps of a `ResumeStore` can, and it
/// replaces a session at once.
public protocol SessionStorage: Sendable {
    /// Returns the session that was stored last, or nil if there is none.
    func load() async -> SessionSnapshot?
    /// Begins a session, at `lastSeq` 0.
    func save(sessionId: String) async
    /// Stores the last sequence number, which only grows. Does nothing if no session is stored.
    func updateLastSeq(_ lastSeq: UInt64) async
    /// Removes the stored session.
    func clear() async
}

/// Gone with the process.
public actor InMemorySessionStorage: SessionStorage {
    private var snapshot: SessionSnapshot?

    /// A storage that holds `initial`.
    public init(initial: SessionSnapshot? = nil) { snapshot = initial }

    public func load() -> SessionSnapshot? { snapshot }
    public func save(sessionId: String) { snapshot = SessionSnapshot(sessionId: sessionId, lastSeq: 0) }

    public func updateLastSeq(_ lastSeq: UInt64) {
        guard let stored = snapshot, lastSeq > stored.lastSeq else { return }
        snapshot = SessionSnapshot(sessionId: stored.sessionId, lastSeq: lastSeq)
    }

    public func clear() { snapshot = nil }
}
