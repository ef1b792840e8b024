import Foundation
import MeshEngine

/// Members of a session: joining, leaving and removal.
///
/// A majority of the members decides on each change. It adds devices that were invited, that return, or that lost their
/// store. It removes a member that has been silent for `memberTimeout`. All of that needs no call from the app. The
/// calls here are for a user's decisions.
extension SyncedSession {
    /// Invites a peer that has the same session open to become a member. Former members and, by default, the user's own
    /// devices need no invitation (`admits`). A group has 16 members at most; the next device raises `notAdmitted`.
    ///
    /// One member's invitation is enough, on any device, and is kept with the session. Configure the invited device
    /// with `waitsForInvitation`. A peer that the user has revoked as lost must be paired again first.
    public func invite(_ peerID: String) {
        turn { $0.invite(peerID) }
        admitGuests()
    }

    /// The peer IDs of the present view's members, this device included, in order; empty before there is a group.
    public var memberIDs: [String] {
        // Registers the caller as an observer.
        _ = (peers, viewNumber)
        return core.engine.isSealed ? core.engine.membership.open.map(\.source.peerID) : []
    }

    /// Removes a member, even without a majority: of two devices, each may remove the other. Events that lacked only
    /// its acknowledgement are confirmed as soon as all other members agree. Members that only the removed peer has
    /// heard are removed with it.
    ///
    /// The peer joins again when it can. It then submits the events of its absence again, after those that happened
    /// here. If its user has removed this device as well, one side's order is kept, with the events of both.
    ///
    /// For a lost device that was paired by its key, call `TrustedPeers.revoke` instead: it covers all sessions.
    public func removeMember(_ peerID: String) { turn { $0.removeMembers([peerID]) } }

    /// Leaves the session on this device for good, so that the others no longer wait for it. Waits at most
    /// `closeTimeout` for their agreement. Without it, they remove this device after `memberTimeout`.
    public func leave() async {
        guard phase == .running else { return }
        turn { $0.leave() }
        await wait(while: { !$0.hasLeft })
        try? await close()
    }

    /// Introduces the members and invited peers to the transport as guests, because members need not be paired with
    /// each other. A device that has left or was removed keeps its last list until it is a member again.
    func admitGuests() {
        guard isRunning, let guestPeerIDs = core.guestPeerIDs else { return }
        guests.admit(guestPeerIDs)
    }
}
