public import MeshEngine
package import MeshFoundation
package import MeshIdentity
public import MeshStorage

// Each ended session has its own value, named by its ID, so ending one reads and overwrites no other tombstone.
extension SessionTombstones {
    /// Loads the sessions of a feature that have ended in this store, erased ones included. Blocks as the store does.
    /// Complexity: O(countMax).
    /// - Throws: `StorageError`.
    public init(of featureID: String, in store: any SessionStore) throws {
        self.init()
        for tombstone in try Self.stored(of: featureID, in: store) { insert(tombstone.sessionID) }
    }

    package static func mark(
        _ sessionID: UUID, of featureID: String, endedAt stamp: HybridTimestamp, in batch: inout StoreBatch
    ) {
        batch.set(withUnsafeBytes(of: stamp.rawValue.littleEndian) { Array($0) }, for: name(sessionID, featureID))
    }

    static func isMarked(_ sessionID: UUID, of featureID: String, in store: any SessionStore) throws -> Bool {
        try store.value(for: name(sessionID, featureID)) != nil
    }

    /// Removes the oldest tombstones from the store if it has more than `countMax`.
    package static func prune(of featureID: String, in store: any SessionStore) throws {
        guard try store.catalog(prefix: prefix(featureID)).keys.count > countMax else { return }
        var batch = StoreBatch()
        for tombstone in try stored(of: featureID, in: store).dropLast(countMax) {
            batch.removeValue(for: name(tombstone.sessionID, featureID))
        }
        try store.commit(batch)
    }

    /// Returns the tombstones, oldest first. A value that doesn't have 8 bytes counts as the oldest.
    private static func stored(
        of featureID: String, in store: any SessionStore
    ) throws -> [(sessionID: UUID, endedAt: UInt64)] {
        let prefix = prefix(featureID)
        return try store.catalog(prefix: prefix).keys.compactMap { key in
            guard let sessionID = UUID(uuidString: String(key.dropFirst(prefix.count))) else { return nil }
            let bytes = try store.value(for: key) ?? []
            return (sessionID, bytes.count == 8 ? bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } : 0)
        }.sorted { $0.endedAt < $1.endedAt }
    }

    private static func prefix(_ featureID: String) -> String { "session/\(featureID)/ended/" }
    private static func name(_ sessionID: UUID, _ featureID: String) -> String {
        prefix(featureID) + sessionID.uuidString
    }
}
