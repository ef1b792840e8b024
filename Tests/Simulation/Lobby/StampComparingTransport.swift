import MeshBase
import MeshIdentity
import MeshTransport

/// A deliberately wrong version of delivery's rule for states of two sessions. It compares their stamps, which follow
/// the clocks of different peers, and drops the state with the earlier stamp.
final class StampComparingTransport: TransportWrapper {
    let wrapped: any SessionSyncTransport
    private let latest = Locked<[String: SessionSyncMetadata]>([:])

    init(wrapped: any SessionSyncTransport) { self.wrapped = wrapped }

    func sendSnapshot(
        _ snapshot: AnySessionSyncSnapshot, mode: SessionDeliveryMode, to peer: SessionPeer?
    ) async throws {
        let metadata = snapshot.metadata
        let isLate = latest.withLock { latest in
            if let sent = latest[metadata.featureID], sent.sessionID != metadata.sessionID, sent.stamp > metadata.stamp
            {
                return true
            }
            latest[metadata.featureID] = metadata
            return false
        }
        if !isLate { try await wrapped.sendSnapshot(snapshot, mode: mode, to: peer) }
    }
}
