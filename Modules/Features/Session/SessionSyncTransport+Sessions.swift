public import Foundation
public import MeshEngine
import MeshIdentity
public import MeshTransport

extension SessionSyncTransport {
    /// The ids of the sessions of a feature that peers have open, each once, as their snapshots arrive: how a device
    /// joins a session that another one has begun. Ends with the transport.
    /// - Parameter ended: sessions that this device knows to be over (`SessionTombstones.init(of:in:)`); a snapshot that outlived
    ///   one never raises it again.
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
