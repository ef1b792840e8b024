/// A link that proves its peers and admits only trusted ones, and can admit guests in addition: peers that a member of
/// a session has introduced. An optional capability; a link that doesn't prove peers doesn't need it.
///
/// To the implementer:
/// - A guest has to prove its id as everybody else, on connections of either direction, and is looked for as the others
///   are. Tell of it by `LinkObserver.connected(_:asGuest:)`; delivery keeps it to its sessions.
/// - A peer that the link trusts by itself is never a guest. Once that changes while the peer is connected, its
///   connection must end and may begin anew, so that the observer knows which it is.
/// - Guests have live lanes only, and live in memory: a link must never store them among its trusted peers.
public protocol GuestAdmittingLink: TransportLink {
    /// Admits these peers as guests, and no other guests. The connection of a former guest that isn't trusted either
    /// must end, and nothing kept of it may let it back in.
    ///
    /// Called from any thread, never by two at once, before `open` too. Must return soon and must never call the observer
    /// from within.
    /// - Parameter peerIDs: at most 64. One that can be no id here is left out.
    func admit(guests peerIDs: Set<String>)
}
