/// A link that admits only trusted peers, and can also admit guests. A guest is a peer that a member of a session has
/// introduced. The link proves the ID of every peer. Conformance is optional: a link that doesn't prove peers doesn't
/// need it.
///
/// To the implementer:
/// - A guest must prove its ID like any peer, on connections of either direction, and is discovered like others. Report
///   it with `LinkObserver.connected(_:asGuest:)`; delivery restricts it to its sessions.
/// - A trusted peer is never a guest. If a peer becomes trusted, or is no longer trusted, while it is connected, end
///   its connection. When the peer connects again, the observer learns whether it is a guest.
/// - Guests have live lanes only. Keep them in memory: a link must never store them among its trusted peers.
public protocol GuestAdmittingLink: TransportLink {
    /// Admits these peers as guests, and no others. The connection of a former guest that isn't trusted must end, and
    /// no remaining state may admit it again.
    ///
    /// Called from any thread, never concurrently, also before `open`. Must return soon and must never call the
    /// observer from within.
    /// - Parameter peerIDs: at most 64. IDs that are invalid for this link are ignored.
    func admit(guests peerIDs: Set<String>)
}
