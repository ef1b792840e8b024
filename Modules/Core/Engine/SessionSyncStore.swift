public import MeshIdentity

/// What an engine holds, in the reference's terms: the state and how far it has come with each peer.
public struct SessionSyncStore<State: Codable & Sendable>: Sendable {
    /// What all events that are held have led to.
    public let state: State
    /// The sequence of the next local event; 1 before the first.
    public let nextLocalSequence: UInt64
    /// The last event in the order that had an effect.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The highest snapshot revision sent or applied.
    public let snapshotRevision: UInt64
    /// The last sequence held of each peer, the local one included. The key is the peer's id; an earlier incarnation of
    /// a peer is `peerID/incarnation`.
    public let lastSequenceByPeerID: [String: UInt64]

    init(
        state: State, nextLocalSequence: UInt64, lastAppliedMetadata: SessionSyncMetadata?, snapshotRevision: UInt64,
        vector: [String: UInt64]
    ) {
        self.state = state
        self.nextLocalSequence = nextLocalSequence
        self.lastAppliedMetadata = lastAppliedMetadata
        self.snapshotRevision = snapshotRevision
        lastSequenceByPeerID = vector
    }

    /// How many sources, peers and their earlier incarnations, one session knows at most, beside the local one.
    static var sourcesMax: Int { 1024 }
}
