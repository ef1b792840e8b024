public import MeshFoundation

/// Sessions that are over, so that what an operating system kept of one never raises it again.
///
/// A session that has ended leaves its id here, in its feature's store (`SessionArchive`), where it stays when the session is erased.
/// At most `countMax` ids: the ones that ended first are forgotten.
public struct SessionTombstones: Hashable, Sendable, Codable {
    /// Ids that are kept.
    public static let countMax = 256

    /// The IDs of ended sessions, newest last.
    public private(set) var sessionIDs: [UUID] = []

    /// No session has ended.
    public init() {}

    /// Returns whether a session is known to have ended.
    /// Complexity: O(countMax).
    public func contains(_ sessionID: UUID) -> Bool { sessionIDs.contains(sessionID) }

    /// Remembers that the session is over. An id that is in it keeps its place. O(countMax).
    public mutating func insert(_ sessionID: UUID) {
        guard !contains(sessionID) else { return }
        if sessionIDs.count >= Self.countMax { sessionIDs.removeFirst(sessionIDs.count - Self.countMax + 1) }
        sessionIDs.append(sessionID)
    }
}
