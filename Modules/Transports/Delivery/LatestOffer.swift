import MeshIdentity

/// The newest snapshot of a feature that this peer has published.
struct LatestOffer {
    /// Counts all published snapshots; the larger number is newer.
    let version: UInt64
    let snapshot: AnySessionSyncSnapshot
}

/// One peer's progress with the newest snapshot of one feature.
struct LatestProgress: Sendable {
    /// A snapshot for this peer alone; nil if there is none.
    var own: LatestOffer?
    /// The newest version that the peer has.
    var acknowledged: UInt64 = 0
    /// The version in flight to it.
    var sent: UInt64 = 0
    var sentAt: UInt64 = 0
    /// Number of times that it was sent on this connection.
    var attempts = 0

    /// Returns the snapshot that the peer should have.
    func offer(_ published: LatestOffer?) -> LatestOffer? {
        guard let own else { return published }
        guard let published else { return own }
        return own.version > published.version ? own : published
    }
}

/// A peer's newest snapshot of one feature, and the version of it in the store.
struct NewestSnapshot: Sendable {
    var outbox: UInt32
    var version: UInt64
    /// The stored snapshot without its state.
    var stored: AnySessionSyncSnapshot?
    var storedBytes = 0
}
