import MeshIdentity

/// The newest snapshot of a feature that this peer has published.
struct LatestOffer {
    /// Counts all that are published; the larger is the newer.
    let version: UInt64
    let snapshot: AnySessionSyncSnapshot
}

/// How far one peer is with the newest snapshot of one feature.
struct LatestProgress: Sendable {
    /// For this peer alone; nil when it gets what all get.
    var own: LatestOffer?
    /// The newest version that it has.
    var acknowledged: UInt64 = 0
    /// What is under way to it.
    var sent: UInt64 = 0
    var sentAt: UInt64 = 0
    /// Times that it was sent on this connection.
    var attempts = 0

    /// What it should have by now.
    func offer(_ published: LatestOffer?) -> LatestOffer? {
        guard let own else { return published }
        guard let published else { return own }
        return own.version > published.version ? own : published
    }
}

/// The last of a peer's newest snapshots of one feature, and what of them the store has.
struct NewestHeard: Sendable {
    var outbox: UInt32
    var version: UInt64
    /// Without its state.
    var stored: AnySessionSyncSnapshot?
    var storedBytes = 0
}
