public import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshTransport

extension SyncedSession {
    /// How that peer stands; nil when nothing is known of it.
    public func status(of peerID: String) -> SessionPeerStatus? { peers.first { $0.peerID == peerID } }

    /// How far an own event has come, by its id; nil for what is none, or lies further back than the newest 16,384.
    public func delivery(of eventID: UUID) -> SessionEventDelivery? {
        guard let entry = deliveries[eventID] else { return nil }
        // Who has acknowledged is part of the peers' status: reading it here lets a view follow.
        _ = peers
        if entry.isConfirmed { return .confirmed }
        let holders = engine.membership.open.count { member in
            member.source != engine.source
                && engine.acknowledged(by: member.source)[engine.source] >= entry.sequence
        }
        if holders > 0 { return .held(by: holders) }
        if entry.isSent { return .sent }
        return deliveries.isAccepted(entry) ? .accepted : .submitted
    }

    /// The last event held of a peer without a gap, the local one included; 0 when nothing is.
    public func heldSequence(of peerID: String) -> UInt64 {
        engine.held.entries.filter { $0.source.peerID == peerID }.map(\.sequence).max() ?? 0
    }

    /// What observers see beside the state, where it has changed.
    func refreshStatus() {
        if isMember != engine.isSealed { isMember = engine.isSealed }
        if isProvisional != engine.isProvisional { isProvisional = engine.isProvisional }
        if confirmedCount != engine.confirmedCount { confirmedCount = engine.confirmedCount }
        let statuses = currentStatuses
        guard peers != statuses else { return }
        peers = statuses
        statusTopic.publish(statuses)
    }

    func isOpenMember(_ peerID: String) -> Bool { engine.membership.open.contains { $0.source.peerID == peerID } }

    /// Own events by their ids, after their names have changed.
    func indexOwnEvents() {
        for record in engine.records where record.source == engine.source {
            var metadata = SessionSyncMetadata(
                sessionID: sessionID, featureID: featureID, sourcePeerID: record.source.peerID,
                sequence: record.sequence, causalTimestamp: record.causalTimestamp, payloadType: engine.payloadType,
                stamp: record.stamp, incarnation: record.source.incarnation)
            if let id = record.eventID { metadata.eventID = id }
            guard case .event = record.content else { continue }
            deliveries.add(metadata)
        }
    }

    private var currentStatuses: [SessionPeerStatus] {
        let members = engine.membership.open
        let missing = engine.missing
        let ids = Set(members.map(\.source.peerID)).union(transport.knownPeers.map(\.id)).union(heard.keys)
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
