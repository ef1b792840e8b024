import MeshIdentity
import MeshStorage
import MeshTransport

/// One step of a replica's work off the main actor.
enum StateStep: Sendable {
    case load(any SessionStore, key: String)
    case save(any SessionStore, key: String, StateArchive, change: UInt64)
    /// Sends to a peer, or (nil) to all peers, including later ones.
    case send(SessionSyncSnapshot<StateMessage>, to: SessionPeer?)
    case report(SessionSyncEnvelope<StateMessage>, to: SessionPeer)

    /// - Returns: the loaded archive, if any.
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
