public import MeshEngine
import MeshFoundation
import MeshIdentity
public import MeshStorage
import MeshWire

extension SessionTombstones {
    /// The sessions of a feature that have ended in this store, whether it still has them or not. O(countMax).
    /// - Throws: `StorageError`.
    public init(of featureID: String, in store: any SessionStore) throws {
        self.init()
        guard let bytes = try store.value(for: Self.key(featureID)) else { return }
        do {
            self = try CompactCodec().decode(Self.self, from: bytes)
        } catch {
            throw StorageError(
                .damaged,
                "the ended sessions of '\(featureID)' cannot be read; remove the value '\(Self.key(featureID))'",
                cause: error)
        }
    }

    /// Adds the session to what the store has, in that batch. Nothing changes where it is there already.
    static func add(_ sessionID: UUID, of featureID: String, in store: any SessionStore, to batch: inout StoreBatch)
        throws
    {
        var tombstones = try SessionTombstones(of: featureID, in: store)
        guard !tombstones.contains(sessionID) else { return }
        tombstones.insert(sessionID)
        batch.set(try CompactCodec().encode(tombstones), for: key(featureID))
    }

    private static func key(_ featureID: String) -> String { "session/\(featureID)/ended" }
}
