import Foundation
import MeshEngine
import MeshIdentity
import MeshTransport

/// The status of events and peers, for a screen.
extension SessionCore {
    func isOpenMember(_ peerID: String) -> Bool { engine.membership.open.contains { $0.source.peerID == peerID } }

    func heldSequence(of peerID: String) -> UInt64 {
        engine.held.entries.filter { $0.source.peerID == peerID }.map(\.sequence).max() ?? 0
    }

    func delivery(of eventID: UUID) -> SessionEventDelivery {
        guard let entry = deliveries[eventID] else { return .unknown }
        return SessionEventDelivery(step: step(of: entry), effect: effect(of: entry, eventID))
    }

    private func step(of entry: DeliveryLedger.Entry) -> SessionEventDelivery.Step {
        if entry.isConfirmed { return .confirmed }
        let holders = engine.membership.open.count { member in
            member.source.peerID != engine.localPeerID
                && engine.acknowledged(by: member.source)[entry.place.source] >= entry.place.sequence
        }
        if holders > 0 { return .held(by: holders) }
        if entry.isSent { return .sent }
        return deliveries.isAccepted(entry) ? .accepted : .submitted
    }

    private func effect(of entry: DeliveryLedger.Entry, _ id: UUID) -> SessionEventDelivery.Effect {
        let isRejected =
            entry.isConfirmed ? entry.isRejected : engine.outcome(ofOwn: entry.place.sequence, entry.stamp) == .rejected
        if isRejected { return .rejected }
        return deliveries.isUnchanged(id) ? .unchanged : .applied
    }

    /// The status of all known peers, ordered by ID. Complexity: O(peers × members).
    var peers: [SessionPeerStatus] {
        let members = engine.membership.open
        let missing = engine.missing
        let ids = Set(members.map(\.source.peerID)).union(moment.knownPeers.map(\.id)).union(heard.keys)
            .union(reachablePeerIDs)
        return ids.subtracting([engine.localPeerID]).sorted().map { id in
            let member = engine.isSealed ? members.first { $0.source.peerID == id }?.source : nil
            let acknowledged = member.map(engine.acknowledged)
            return SessionPeerStatus(
                peerID: id,
                sync: acknowledged.map { sync(lacking: heldCount(missingIn: $0) { $0 != member }) }
                    ?? syncOfOutsider(id),
                isActive: isActive(id),
                unacknowledgedCount: acknowledged.map { heldCount(missingIn: $0) { $0.peerID == engine.localPeerID } },
                missingCount: missing.filter { $0.source.peerID == id }
                    .reduce(0) { $0 &+ ($1.last &- $1.first &+ 1) },
                isReachable: reachablePeerIDs.contains(id), lastHeardAt: heard[id]?.at,
                heardSince: heard[id]?.since, clockOffset: engine.clockOffset(of: id))
        }
    }

    private func isActive(_ peerID: String) -> Bool {
        heard[peerID].map { !isGone(peerID, heardAt: $0.at) } ?? false
    }

    /// Returns the number of events that are held here and not acknowledged, of the sources that `isCounted` selects.
    private func heldCount(missingIn acknowledged: SequenceVector, of isCounted: (SessionSource) -> Bool) -> UInt64 {
        engine.held.entries.filter { isCounted($0.source) }
            .reduce(0) { $0 &+ ($1.sequence &- min($1.sequence, acknowledged[$1.source])) }
    }

    private func sync(lacking count: UInt64) -> SessionPeerSync { count == 0 ? .upToDate : .behind(by: count) }

    private func syncOfOutsider(_ peerID: String) -> SessionPeerSync {
        if elsewhere.contains(peerID) { return .elsewhere }
        if heard[peerID]?.isNotAdmitted == true { return .notAdmitted }
        return engine.isProvisional && shownPeerID == peerID ? .provisional : .waiting
    }
}
