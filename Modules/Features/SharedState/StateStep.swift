import MeshIdentity
import MeshStorage
import MeshTransport

/// One thing that a replica has done off the main actor before it goes on.
enum StateStep: Sendable {
    case load(any SessionStore, key: String)
    case save(any SessionStore, key: String, StateArchive, change: UInt64)
    /// nil sends to everybody, also to who comes later.
    case send(SessionSyncSnapshot<StateMessage>, to: SessionPeer?)
    case report(SessionSyncEnvelope<StateMessage>, to: SessionPeer)

    /// - Returns: what was loaded.
    func perform(on transport: any SessionSyncTransport) async throws -> StateArchive? {
        switch self {
        case .load(let store, let key):
            return try store.value(for: key).map(StateArchive.init)
        case .save(let store, let key, let archive, _):
            var batch = StoreBatch()
            batch.set(try archive.encoded(), for: key)
            try store.commit(batch)
        case .send(let snapshot, let peer):
            try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .latestSnapshot, to: peer)
        case .report(let envelope, let peer):
            try await transport.send(AnySessionSyncEnvelope(envelope), mode: .acknowledgement, to: peer)
        }
        return nil
    }
}
