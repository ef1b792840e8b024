import Foundation
import MeshBase
import MeshEngine
import MeshIdentity

/// Who is here, who joins and who is let go.
extension SessionCore {
    /// Tells the engine which members this device hasn't heard for long, and which the user has revoked as lost.
    mutating func suspectTheAbsent() {
        company.suspected = absentMembers().union(company.revoked.intersection(otherMembers))
        engine.suspect(company.suspected)
    }

    private mutating func absentMembers() -> Set<String> {
        guard let lease else { return [] }
        // A device that slept has heard no one.
        if abs(moment.now.timeIntervalSince(lastExchangeAt)) > silenceMaximum.seconds + lease / 2 {
            listeningSince = moment.now
        }
        (lastExchangeAt, silenceMaximum) = (moment.now, .zero)
        return Set(otherMembers.filter { moment.now.timeIntervalSince(lastSign(of: $0)) > lease })
    }

    private var otherMembers: [String] {
        engine.membership.open.map(\.source.peerID).filter { $0 != engine.localPeerID }
    }

    /// The moment up to which nothing tells that a peer has gone. One that the link reaches may be silent for as long as it
    /// has announced; one that the link has lost was there until then.
    private func lastSign(of peerID: String) -> Date {
        guard let heard = heard[peerID] else { return listeningSince }
        let isLost = tellsReachability && !reachablePeerIDs.contains(peerID)
        let silentUntil = isLost ? heard.at : heard.at + announcedSilence(of: peerID)
        return max(silentUntil, heard.linkChangedAt ?? heard.at, listeningSince)
    }

    /// Seconds until the next member is suspected that the link has lost; nil if none is.
    var secondsUntilSuspicion: TimeInterval? {
        guard let lease, tellsReachability, engine.isSealed else { return nil }
        let lost = otherMembers.filter { !reachablePeerIDs.contains($0) && !company.suspected.contains($0) }
        guard let earliest = lost.map(lastSign).min() else { return nil }
        return max(lease - moment.now.timeIntervalSince(earliest), 0) + configuration.exchangeInterval.seconds / 10
    }

    /// Seconds; longer than members are silent while there is nothing to say.
    private var lease: TimeInterval? {
        configuration.memberTimeout.map { max($0.seconds, 30 * configuration.exchangeInterval.seconds) }
    }

    /// Asks the link about a peer before the engine reads what that says of groups.
    mutating func regard(_ peerID: String) {
        guard configuration.admits == .paired else { return }
        engine.regard(peerID, asOwn: isOwn(peerID))
    }

    /// Asks again about the peers that are the user's own: the user may have unpaired one since it spoke.
    mutating func regardOwnPeers() {
        for peerID in engine.ownPeerIDs { regard(peerID) }
    }

    /// Goes on without the peers that the user has revoked as lost, and takes back their invitations.
    ///
    /// - Parameter peerIDs: all of them, each time. A peer that is none any more may join again.
    mutating func revoke(_ peerIDs: Set<String>) {
        guard peerIDs != company.revoked else { return }
        (company.revoked, company.revokedInView) = (peerIDs, nil)
        exchangeNow()
    }

    /// A revoked member counts as absent (`suspectTheAbsent`), so a majority goes on without it as soon as no other member
    /// hears it. If the others are no majority, the user's word stands in for it: once for each view, because it would hold
    /// up a group in which another member still hears the peer.
    mutating func endRevoked() {
        guard !company.revoked.isEmpty, engine.group != nil, company.revokedInView != engine.view else { return }
        company.revokedInView = engine.view
        for peerID in engine.invited where company.revoked.contains(peerID) { engine.withdrawInvitation(of: peerID) }
        let members = Set(otherMembers)
        let lost = company.revoked.intersection(members)
        guard !lost.isEmpty else { return }
        if members.count - lost.count < lost.count { return stopWaiting(for: lost) }
        company.goOn(without: sources(of: lost), by: engine.localPeerID)
    }

    mutating func invite(_ peerID: String) {
        guard !company.revoked.contains(peerID) else { return }
        engine.invite(peerID)
        heard[peerID]?.isNotAdmitted = false
        exchangeNow()
    }

    mutating func goOn(without peerIDs: Set<String>) {
        stopWaiting(for: peerIDs)
        exchangeNow()
    }

    private mutating func stopWaiting(for peerIDs: Set<String>) {
        company.goOn(without: sources(of: peerIDs), by: engine.localPeerID)
        engine.goOn(without: peerIDs)
        directives.showsStatus = true
    }

    private func sources(of peerIDs: Set<String>) -> [SessionSource] {
        engine.membership.open.map(\.source).filter { peerIDs.contains($0.peerID) }
    }

    /// Peers that belong to this session, whoever is paired with them: the other members, and whom this device has invited.
    /// nil while it is no member itself. Complexity: O(members).
    var companions: Set<String>? {
        guard engine.isSealed else { return nil }
        return Set(engine.membership.open.map(\.source.peerID)).union(engine.invited).subtracting([engine.localPeerID])
    }

    mutating func leave() {
        engine.leave()
        exchangeNow()
    }

    /// The others have agreed that this device leaves, or there are none.
    var hasLeft: Bool { !engine.isSealed || engine.hasForked || engine.membership.open.count < 2 }
}
