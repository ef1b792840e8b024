import Foundation
import MeshBase
import MeshEngine
import MeshIdentity

// Membership as the session drives it (Convergence.md, rules 19 to 21). The engine decides on views. This file tells it
// which members are suspected, invited, revoked, or removed by the user.
//
// - lease: the seconds of silence after which a member is suspected: `memberTimeout`, at least 30 exchange intervals.
// - announced silence: each control states the time within which its sender speaks again. The lease begins after it.
// - own: a device that belongs to the same user, according to the link.
// Docs/Internals/Glossary.md defines the terms.

/// Presence, joining and removal of members.
extension SessionCore {
    /// Tells the engine which members this device hasn't heard for too long, or the user has revoked as lost.
    mutating func suspectAbsentMembers() {
        membershipLedger.suspected = absentMembers().union(membershipLedger.revoked.intersection(otherMembers))
        engine.suspect(membershipLedger.suspected)
    }

    private mutating func absentMembers() -> Set<String> {
        guard let lease else { return [] }
        // A suspended device hears no member, so silence counts from its return.
        if abs(moment.now.timeIntervalSince(lastExchangeAt)) > silenceMaximum.seconds + lease / 2 {
            listeningSince = moment.now
        }
        (lastExchangeAt, silenceMaximum) = (moment.now, .zero)
        return Set(otherMembers.filter { moment.now.timeIntervalSince(lastPresence(of: $0)) > lease })
    }

    private var otherMembers: [String] {
        engine.membership.open.map(\.source.peerID).filter { $0 != engine.localPeerID }
    }

    /// Returns the last moment at which a peer counts as present. A reachable peer may be silent for as long as it
    /// announced. A peer that the link has lost was present until then.
    private func lastPresence(of peerID: String) -> Date {
        guard let heard = heard[peerID] else { return listeningSince }
        let isLost = reportsReachability && !reachablePeerIDs.contains(peerID)
        let silentUntil = isLost ? heard.at : heard.at + announcedSilence(of: peerID)
        return max(silentUntil, heard.linkChangedAt ?? heard.at, listeningSince)
    }

    /// Seconds until the next member that the link has lost is suspected; nil if there is none.
    var secondsUntilSuspicion: TimeInterval? {
        guard let lease, reportsReachability, engine.isSealed else { return nil }
        let lost = otherMembers.filter { !reachablePeerIDs.contains($0) && !membershipLedger.suspected.contains($0) }
        guard let earliest = lost.map(lastPresence).min() else { return nil }
        return max(lease - moment.now.timeIntervalSince(earliest), 0) + configuration.exchangeInterval.seconds / 10
    }

    /// Seconds of silence after which a member is suspected; nil for never.
    private var lease: TimeInterval? {
        configuration.memberTimeout.map { max($0.seconds, 30 * configuration.exchangeInterval.seconds) }
    }

    /// Tells the engine whether the link reports a peer as the user's own device. Call it before the engine gets a
    /// message of the peer.
    mutating func updateOwnership(of peerID: String) {
        guard configuration.admits == .paired else { return }
        engine.setPeer(peerID, isOwnDevice: isOwn(peerID))
    }

    /// Asks the link again about the user's own devices, because the user may have unpaired one meanwhile.
    mutating func updateOwnPeers() {
        for peerID in engine.ownPeerIDs { updateOwnership(of: peerID) }
    }

    /// Removes the peers that the user has revoked as lost, and withdraws their invitations.
    ///
    /// - Parameter peerIDs: all revoked peers, each time. A peer that is no longer among them may join again.
    mutating func revoke(_ peerIDs: Set<String>) {
        guard peerIDs != membershipLedger.revoked else { return }
        (membershipLedger.revoked, membershipLedger.revokedInView) = (peerIDs, nil)
        exchangeNow()
    }

    /// Removes revoked members. They count as absent (`suspectAbsentMembers`), so a majority removes them as soon as no
    /// other member hears them. If the remaining members aren't a majority, the user's decision removes the peers
    /// instead. This device tries that at most once per view, because it delays a group in which another member still
    /// hears the peer.
    mutating func removeRevokedMembers() {
        guard !membershipLedger.revoked.isEmpty, engine.group != nil, membershipLedger.revokedInView != engine.view
        else { return }
        membershipLedger.revokedInView = engine.view
        for peerID in engine.invited where membershipLedger.revoked.contains(peerID) {
            engine.withdrawInvitation(of: peerID)
        }
        let members = Set(otherMembers)
        let lost = membershipLedger.revoked.intersection(members)
        guard !lost.isEmpty else { return }
        if members.count - lost.count < lost.count { return stopWaiting(for: lost) }
        membershipLedger.recordRemoval(of: sources(of: lost), by: engine.localPeerID)
    }

    mutating func invite(_ peerID: String) {
        guard !membershipLedger.revoked.contains(peerID) else { return }
        engine.invite(peerID)
        heard[peerID]?.isNotAdmitted = false
        exchangeNow()
    }

    mutating func removeMembers(_ peerIDs: Set<String>) {
        stopWaiting(for: peerIDs)
        exchangeNow()
    }

    private mutating func stopWaiting(for peerIDs: Set<String>) {
        membershipLedger.recordRemoval(of: sources(of: peerIDs), by: engine.localPeerID)
        engine.removeMembers(peerIDs)
        directives.showsStatus = true
    }

    private func sources(of peerIDs: Set<String>) -> [SessionSource] {
        engine.membership.open.map(\.source).filter { peerIDs.contains($0.peerID) }
    }

    /// Peers that belong to this session, no matter who is paired with them: the other members, and peers that this
    /// device has invited. nil while this device isn't a member. Complexity: O(members).
    var guestPeerIDs: Set<String>? {
        guard engine.isSealed else { return nil }
        return Set(engine.membership.open.map(\.source.peerID)).union(engine.invited).subtracting([engine.localPeerID])
    }

    mutating func leave() {
        engine.leave()
        exchangeNow()
    }

    /// True once the others have agreed that this device leaves, or if there are no others.
    var hasLeft: Bool { !engine.isSealed || engine.hasForked || engine.membership.open.count < 2 }
}
