public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshTransport

extension SessionSyncTransport {
    /// Returns a stream of the IDs of a feature's sessions that peers have open. Each ID appears once, when its first
    /// snapshot arrives. Use it to join a session that another device began. Ends with the transport.
    /// - Parameter ended: sessions that this device knows to be over (`SessionTombstones.init(of:in:)`). The stream
    ///   omits them, even if a snapshot of one still arrives.
    public func sessions(featureID: String, ended: SessionTombstones = .init()) -> AsyncStream<UUID> {
        let snapshots = receiveSnapshots()
        return AsyncStream { continuation in
            let task = Task {
                var seen = Set(ended.sessionIDs)
                for await snapshot in snapshots where snapshot.metadata.featureID == featureID {
                    if seen.insert(snapshot.metadata.sessionID).inserted {
                        continuation.yield(snapshot.metadata.sessionID)
                    }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
