public import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an engine holds: the state and how far it has come with each peer.
public struct SessionSyncStore<State: Codable & Sendable>: Sendable {
    public internal(set) var state: State
    /// The sequence of the next local event; 1 before the first.
    public internal(set) var nextLocalSequence: UInt64 = 1
    /// The last sequence held of each peer, the local one included. The key is the peer's id; an earlier incarnation of
    /// a peer is `peerID/incarnation`.
    public internal(set) var lastSequenceByPeerID: [String: UInt64] = [:]
    public internal(set) var lastAppliedMetadata: SessionSyncMetadata?
    /// The highest snapshot revision sent or applied.
    public internal(set) var snapshotRevision: UInt64 = 0

    /// Who made the state of that revision; decides between two states of one revision.
    var snapshotSourcePeerID: String
    /// The incarnation that `lastSequenceByPeerID` means by a peer's bare id.
    var incarnationByPeerID: [String: UInt32] = [:]
    var explicitEventIDs = RecentEventIDs()

    init(state: State, localPeerID: String) {
        self.state = state
        self.snapshotSourcePeerID = localPeerID
    }
}

extension SessionSyncStore {
    /// The vector's key for events of that source, once it has been admitted.
    func vectorKey(of metadata: SessionSyncMetadata) -> String {
        let current = incarnationByPeerID[metadata.sourcePeerID]
        return current == nil || current == metadata.incarnation
            ? metadata.sourcePeerID : "\(metadata.sourcePeerID)/\(metadata.incarnation)"
    }

    /// Makes room in the vector for a source that is seen for the first time: the peer's new incarnation takes over its
    /// bare id. O(1).
    /// - Throws: `SessionSyncError.tooManySources`.
    mutating func admit(_ metadata: SessionSyncMetadata) throws {
        let peerID = metadata.sourcePeerID
        let key = vectorKey(of: metadata)
        if incarnationByPeerID[peerID] != nil, lastSequenceByPeerID[key] != nil || key == peerID { return }
        guard lastSequenceByPeerID.count < Self.sourcesMax else {
            throw SessionSyncError.tooManySources(limit: Self.sourcesMax)
        }
        if let earlier = incarnationByPeerID[peerID], let sequence = lastSequenceByPeerID.removeValue(forKey: peerID) {
            lastSequenceByPeerID["\(peerID)/\(earlier)"] = sequence
        }
        incarnationByPeerID[peerID] = metadata.incarnation
    }

    /// How many sources, peers and their earlier incarnations, one session knows at most.
    static var sourcesMax: Int { 1024 }
}

/// The last few event ids that did not follow from their metadata; the others are covered by the sequence.
struct RecentEventIDs: Sendable {
    private var ids: [UUID] = []
    private var oldest = 0

    static let countMax = 64

    func contains(_ metadata: SessionSyncMetadata) -> Bool {
        guard let id = metadata.explicitEventID else { return false }
        return ids.contains(id)
    }

    mutating func insert(_ metadata: SessionSyncMetadata) {
        guard let id = metadata.explicitEventID else { return }
        if ids.count < Self.countMax {
            ids.append(id)
        } else {
            ids[oldest] = id
            oldest = (oldest + 1) % Self.countMax
        }
    }
}
