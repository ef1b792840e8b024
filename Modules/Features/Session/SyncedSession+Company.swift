import Foundation
import MeshEngine

/// Members of a session: who joins, leaves and is removed.
///
/// A majority of the members decides on each change. It adds devices that were invited, that return, or that lost their store. It
/// removes a member that has been silent for `memberTimeout`. The session does so without the app; these calls are for decisions
/// of a person.
extension SyncedSession {
    /// Lets that peer, which has the session open too, become a member. Former members and, by default, the user's own devices
    /// need no invitation (`admits`). A group has 16 members at most; the next device raises `notAdmitted`.
    ///
    /// One member's word is enough, on any device; the peer itself is best configured with `waitsForInvitation`. It is remembered with
    /// the session. A peer that the user has revoked as lost isn't invited, until it's paired again.
    public func invite(_ peerID: String) {
        turn { $0.invite(peerID) }
        nameGuests()
    }

    /// The members of the present view, this device among them, in order; empty before there is a group.
    public var memberIDs: [String] {
        // Reading these lets a view follow.
        _ = (peers, viewNumber)
        return core.engine.isSealed ? core.engine.membership.open.map(\.source.peerID) : []
    }

    /// Removes a member, even without a majority: of two devices, each may remove the other. Events that only lack its
    /// acknowledgement are confirmed as soon as all other members have agreed. Members that only that peer has heard are removed
    /// with it.
    ///
    /// The peer joins again when it can, and issues the events that it submitted meanwhile again, after those that happened here. If
    /// its user has removed this device as well, one side's order is kept, and each side's events.
    ///
    /// A lost device that was paired by its key is revoked instead, for all sessions at once (`TrustedPeers.revoke`).
    public func removeMember(_ peerID: String) { turn { $0.goOn(without: [peerID]) } }

    /// Leaves the session on this device, for good: the others wait for it no longer. Waits at most for `closePatience`
    /// until they have agreed; otherwise they let it go when they have not heard of it for long.
    public func leave() async {
        guard phase == .running else { return }
        turn { $0.leave() }
        await waited(while: { !$0.hasLeft })
        try? await close()
    }

    /// Members need not be paired with each other: the transport lets in whom one of them has introduced, for this session
    /// alone. Who has left a group, or was let go, keeps what it said last until it is a member again.
    func nameGuests() {
        guard isRunning, let companions = core.companions else { return }
        guests.name(companions)
    }
}
