public import Foundation
public import MeshIdentity
import MeshRegister

/// Two concurrent changes of the same value or field: neither author had seen the other one's change.
public struct SharedStateConflict: Hashable, Sendable {
    /// One of the two changes.
    public struct Change: Hashable, Sendable {
        /// The ID of the peer that made the change.
        public let peerID: String
        /// The moment of the change, on its author's hybrid clock.
        public let stamp: HybridTimestamp
        /// The JSON of the value or field; nil if the field was removed.
        public let json: Data?

        init(_ entry: StateEntry) {
            peerID = entry.version.peerID
            stamp = entry.version.stamp
            json = entry.bytes
        }
    }

    /// The coding key of the field; nil for the value as a whole.
    public let field: String?
    /// The change that stayed.
    public let kept: Change
    /// The change that lost. With an app's own merge, the older one of the two merged values.
    public let lost: Change
}
