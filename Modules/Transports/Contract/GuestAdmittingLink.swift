/// A link that proves its peers and admits only trusted ones, and can admit guests in addition: peers that a member of
/// a session has introduced. An optional capability; a link that doesn't prove peers doesn't need it.
///
/// To the implementer:
/// - A guest must prove its ID like any peer, on connections of either direction, and is discovered like others. Report
///   it with `LinkObserver.connected(_:asGuest:)`; delivery restricts it to its sessions.
/// - A peer that the link trusts by itself is never a guest. If that changes while the peer is connected, end its
///   connection. It may start over, so that the observer learns whether the peer is a guest.
/// - Guests have live lanes only, and are kept in memory: a link must never store them among its trusted peers.
public protocol GuestAdmittingLink: TransportLink {
    /// Admits these peers as guests, and no others. The connection of a former guest that isn't trusted must end, and
    /// no remaining state may admit it again.
    ///
    /// Called from any thread, never concurrently, also before `open`. Must return soon and must never call the
    /// observer from within.
    /// - Parameter peerIDs: at most 64. IDs that are invalid for this link are ignored.
    func admit(guests peerIDs: Set<String>)
}
