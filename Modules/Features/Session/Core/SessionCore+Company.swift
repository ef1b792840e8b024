import Foundation
import MeshBase
import MeshEngine
import MeshIdentity

/// Who is here, who joins and who is let go.
extension SessionCore {
    /// Tells the engine whom nobody has heard of here for long.
    mutating func suspectTheAbsent() {
        guard let lease else { return }
        // A device that slept has heard no one.
        if abs(moment.now.timeIntervalSince(lastExchangeAt)) > silenceMaximum.seconds + lease / 2 {
            listeningSince = moment.now
        }
        (lastExchangeAt, silenceMaximum) = (moment.now, .zero)
        let absent = otherMembers.filter { moment.now.timeIntervalSince(lastSign(of: $0)) > lease }
        company.suspected = Set(absent)
        engine.suspect(company.suspected)
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

    mutating func invite(_ peerID: String) {
        engine.invite(peerID)
        heard[peerID]?.isNotAdmitted = false
        exchangeNow()
    }

    mutating func goOn(without peerIDs: Set<String>) {
        let unwanted = engine.membership.open.map(\.source).filter { peerIDs.contains($0.peerID) }
        company.goOn(without: unwanted, by: engine.localPeerID)
        engine.goOn(without: peerIDs)
        directives.showsStatus = true
        exchangeNow()
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
