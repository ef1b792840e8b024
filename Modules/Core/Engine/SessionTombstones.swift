public import MeshFoundation

/// The IDs of ended sessions, so that a message that the operating system delivers late can't revive one.
///
/// A session that ends adds its ID here, in its feature's store (`SessionArchive`). The ID stays when the session is
/// erased. Beyond `countMax` IDs the oldest are forgotten.
public struct SessionTombstones: Hashable, Sendable, Codable {
    /// Maximum number of IDs that are kept.
    public static let countMax = 256

    /// The IDs of ended sessions, newest last.
    public private(set) var sessionIDs: [UUID] = []

    /// Creates an empty list.
    public init() {}

    /// True if a session is known to have ended. Complexity: O(countMax).
    public func contains(_ sessionID: UUID) -> Bool { sessionIDs.contains(sessionID) }

    /// Adds a session that has ended. A known ID keeps its place. Complexity: O(countMax).
    public mutating func insert(_ sessionID: UUID) {
        guard !contains(sessionID) else { return }
        if sessionIDs.count >= Self.countMax { sessionIDs.removeFirst(sessionIDs.count - Self.countMax + 1) }
        sessionIDs.append(sessionID)
    }
}
