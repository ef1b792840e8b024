public import Foundation
public import MeshIdentity
import MeshRegister

/// Two peers changed the same thing without knowing of each other.
public struct SharedStateConflict: Hashable, Sendable {
    /// One of the two changes.
    public struct Change: Hashable, Sendable {
        /// The ID of the peer that made the change.
        public let peerID: String
        /// The moment of the change, on its author's hybrid clock.
        public let stamp: HybridTimestamp
        /// JSON of the value or of the field; nil where the field was removed.
        public let json: Data?

        init(_ entry: StateEntry) {
            peerID = entry.version.peerID
            stamp = entry.version.stamp
            json = entry.bytes
        }
    }

    /// The coding key; nil when it was the whole value.
    public let field: String?
    /// The change that is shown now.
    public let kept: Change
    /// The change that lost; with a merge of the app, the one that was merged into the other.
    public let lost: Change
}
