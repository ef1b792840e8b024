import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport

/// Sending and receiving the notices that devices exchange before and during a session.
extension SessionLobby {
    private var noticeFeatureID: String { "\(featureID).lobby" }

    /// Maximum number of devices that are known. Others are ignored.
    private nonisolated static var devicesMax: Int { 64 }

    func listen() {
        let snapshots = transport.receiveSnapshots()
        let reachability = transport.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await change in reachability { self?.receive(change) } },
        ])
    }

    private func receive(_ snapshot: AnySessionSyncSnapshot) {
        let metadata = snapshot.metadata
        guard metadata.sourcePeerID != transport.localPeer.id else { return }
        // The transport vouches for the sender's peer ID. Ignore a notice whose metadata has another incarnation, and
        // states of nonmembers.
        if metadata.featureID == noticeFeatureID {
            if let notice = try? snapshot.decodeState(as: LobbyNotice.self), notice.incarnation == metadata.incarnation
            {
                receive(notice, from: metadata.sourcePeerID)
            }
        } else if metadata.featureID == featureID, part == .spectator, let followed,
            metadata.sessionID == followed.sessionID, followed.includes(metadata.sourcePeerID)
        {
            showState(of: snapshot)
        }
    }

    /// Shows a member's state. Between members in reach, the state with the most events wins; of one member, the latest.
    private func showState(of snapshot: AnySessionSyncSnapshot) {
        let peerID = snapshot.metadata.sourcePeerID
        let eventCount = snapshot.peerSequenceVector.values.reduce(UInt64(0)) { sum, count in
            let (next, overflows) = sum.addingReportingOverflow(count)
            return overflows ? .max : next
        }
        // A false count has no effect once its sender has gone.
        if let observed, reachable.contains(observed.peerID) {
            let isNext = observed.peerID == peerID && observed.revision < snapshot.revision
            guard isNext || observed.eventCount <= eventCount else { return }
        }
        guard let state = try? snapshot.decodeState(as: State.self) else { return }
        observed = ObservedSession(
            sessionID: snapshot.metadata.sessionID, state: state, peerID: peerID, seenAt: base.now(),
            revision: snapshot.revision, eventCount: eventCount)
        onChange(.observed)
    }

    private func receive(_ notice: LobbyNotice, from peerID: String) {
        guard devices.count < Self.devicesMax || devices.contains(where: { $0.peerID == peerID }) else { return }
        devices.removeAll { $0.peerID == peerID }
        devices.append(
            SessionDevice(
                peerID: peerID, name: LobbyNotice.shown(notice.name), isReachable: reachable.contains(peerID),
                isMember: false, source: SessionSource(peerID: peerID, incarnation: notice.incarnation)))
        devices.sort { $0.peerID < $1.peerID }
        updateMembership()
        if let heard = notice.invitation { consider(heard, from: peerID) }
        admitFirstDevice()
        onChange(.devices)
    }

    private func receive(_ change: SessionPeerReachability) {
        guard let peer = change.peer else { return }
        if change.isReachable {
            reachable.insert(peer.id)
            // The device may have been relaunched, and then knows no invitation.
            publish()
        } else {
            reachable.remove(peer.id)
        }
        if let index = devices.firstIndex(where: { $0.peerID == peer.id }) {
            (devices[index].isReachable, devices[index].hasLeft) = (change.isReachable, change.hasLeft)
        }
        admitFirstDevice()
        onChange(.devices)
    }

    func updateMembership() {
        for index in devices.indices {
            devices[index].isMember = invitation?.includes(devices[index].peerID) ?? false
        }
    }

    /// Sends the notice to every device, including devices that appear later.
    func publish() {
        mustPublish = true
        guard let launch, !isPublishing else { return }
        isPublishing = true
        Task {
            while mustPublish {
                mustPublish = false
                try? await transport.sendSnapshot(notice(of: launch), mode: .latestSnapshot, to: nil)
            }
            isPublishing = false
        }
    }

    private func notice(of launch: LobbyLaunch) throws -> AnySessionSyncSnapshot {
        revision += 1
        let metadata = SessionSyncMetadata(
            sessionID: launch.scope, featureID: noticeFeatureID, sourcePeerID: transport.localPeer.id,
            sequence: revision,
            causalTimestamp: base.now(), payloadType: "\(featureID).notice", stamp: launch.stamp,
            incarnation: launch.incarnation)
        let notice = LobbyNotice(name: name, incarnation: launch.incarnation, invitation: invitation)
        return try AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: revision, state: notice, peerSequenceVector: [:]))
    }
}
