import Foundation
import MeshEngine
import MeshIdentity
import MeshTransport

/// How things stand, for a screen.
extension SessionCore {
    func isOpenMember(_ peerID: String) -> Bool { engine.membership.open.contains { $0.source.peerID == peerID } }

    func heldSequence(of peerID: String) -> UInt64 {
        engine.held.entries.filter { $0.source.peerID == peerID }.map(\.sequence).max() ?? 0
    }

    func delivery(of eventID: UUID) -> SessionEventDelivery? {
        guard let entry = deliveries[eventID] else { return nil }
        if entry.isConfirmed { return .confirmed }
        let holders = engine.membership.open.count { member in
            member.source != engine.source
                && engine.acknowledged(by: member.source)[engine.source] >= entry.sequence
        }
        if holders > 0 { return .held(by: holders) }
        if entry.isSent { return .sent }
        return deliveries.isAccepted(entry) ? .accepted : .submitted
    }

    /// In the order of their ids. Complexity: O(peers × members).
    var peers: [SessionPeerStatus] {
        let members = engine.membership.open
        let missing = engine.missing
        let ids = Set(members.map(\.source.peerID)).union(moment.knownPeers.map(\.id)).union(heard.keys)
            .union(reachablePeerIDs)
        return ids.subtracting([engine.localPeerID]).sorted().map { id in
            SessionPeerStatus(
                peerID: id, sync: sync(of: id, members),
                missingCount: missing.filter { $0.source.peerID == id }
                    .reduce(0) { $0 &+ ($1.last &- $1.first &+ 1) },
                isReachable: reachablePeerIDs.contains(id), lastHeardAt: heard[id]?.at,
                clockOffset: engine.clockOffset(of: id))
        }
    }

    private func sync(of peerID: String, _ members: [SessionMembership.Member]) -> SessionPeerSync {
        if let member = members.first(where: { $0.source.peerID == peerID })?.source, engine.isSealed {
            let acknowledged = engine.acknowledged(by: member)
            let lacking = engine.held.entries.reduce(UInt64(0)) { count, entry in
                guard entry.source != member else { return count }
                return count &+ (entry.sequence &- min(entry.sequence, acknowledged[entry.source]))
            }
            return lacking == 0 ? .upToDate : .behind(by: lacking)
        }
        if heard[peerID]?.isNotAdmitted == true { return .notAdmitted }
        return engine.isProvisional && shownPeerID == peerID ? .provisional : .waiting
    }
}
