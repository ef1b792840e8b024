import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport

/// The choice of one session among all devices (see `SessionInvitation`), and joining or watching it.
extension SessionLobby {
    /// The source that signs this device's events in the current session.
    private var source: SessionSource {
        session?.source ?? SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
    }

    // MARK: - Invitations

    /// Follows an invitation, and passes it on, if it is greater than the present one or adds devices to its session.
    /// Ignores an invitation that includes neither its sender nor this device.
    /// - Parameter peerID: the device that sent it; nil for this device.
    func consider(_ heard: SessionInvitation, from peerID: String? = nil) {
        let isVouchedFor = peerID.map { heard.includes($0) || heard.includes(transport.localPeer.id) } ?? true
        guard heard.isUsable(at: base.now()), isVouchedFor else { return }
        if let peerID, let invitation, !mayFollow(heard, of: peerID, from: invitation) { return }
        var heard = heard
        if let invitation {
            if invitation.isOfOneSession(as: heard) {
                guard mayAdd(heard, from: peerID, to: invitation) else { return }
                heard = invitation.merged(with: heard)
                guard heard != invitation else { return }
            } else {
                guard isGreater(heard, than: invitation) else { return }
            }
        }
        invitation = heard
        updateMembership()
        publish()
        followInvitation()
    }

    /// Returns true if an invitation only adds devices to the present session, and its sender may do that. Every paired
    /// device hears the invitation, so any could send it back with itself in it, or without the members.
    private func mayAdd(_ heard: SessionInvitation, from peerID: String?, to present: SessionInvitation) -> Bool {
        guard let peerID else { return true }
        // An opener that is still alone takes the first device that appears.
        let isAlone = present.allDevices.count == 1
        let isInSession = present.includes(peerID) || session?.memberIDs.contains(peerID) == true
        let isTrusted = isAlone || isInSession || transport.isOwn(peerID)
        // A group of more than two was named by its opener, so it is the same on all devices.
        let isSameGroup = present.members == heard.members || max(present.members.count, heard.members.count) <= 2
        let merged = Set(present.merged(with: heard).allDevices.map(\.peerID))
        return isTrusted && isSameGroup && merged.isSuperset(of: present.allDevices.map(\.peerID))
    }

    /// Returns true if an invitation's number isn't too far above the present one.
    ///
    /// A lying peer may have raised another device's number step by step, far above this one's. So the limit for a
    /// refused invitation rises by one step each time its peer repeats it, until this device can follow. While the gap
    /// is too large, each side publishes, so that the other side repeats its invitation.
    private func mayFollow(_ heard: SessionInvitation, of peerID: String, from present: SessionInvitation) -> Bool {
        let reached = refused[peerID].map { $0.sessionID == heard.sessionID ? $0.limit : 0 } ?? 0
        let limit = SessionInvitation.limit(above: max(present.number, reached))
        let isTooFar = heard.number > limit
        refused[peerID] = isTooFar ? (heard.sessionID, limit) : nil
        if isTooFar || present.number > SessionInvitation.limit(above: heard.number) { publish() }
        return !isTooFar
    }

    /// Moves to the invitation's session, and on to the next one if that changes meanwhile.
    func followInvitation() {
        guard launch != nil, following == nil else { return }
        following = Task {
            while let next = invitation, next != followed { await follow(next) }
            following = nil
        }
    }

    /// Tries again to open the followed session, if that has failed. The cause may have been a store that was unavailable
    /// for a moment.
    func retryOpening() {
        guard part == .spectator, following == nil, invitation == followed,
            invitation?.includes(transport.localPeer.id) == true
        else { return }
        followed = nil
        followInvitation()
    }

    private func isGreater(_ heard: SessionInvitation, than present: SessionInvitation) -> Bool {
        present < heard
    }

    /// Adds the first device that appears, if this device has opened the session alone.
    func admitFirstDevice() {
        guard let invitation, invitation.members == [source], let first = connectedSources.first else { return }
        guard session?.hasEnded != true else { return }
        consider(invitation.adding(first))
    }

    var connectedSources: [SessionSource] {
        devices.filter(\.isReachable).map(\.source)
    }

    // MARK: - Sessions

    private func follow(_ invitation: SessionInvitation) async {
        let earlier = followed
        followed = invitation
        let isIncluded = invitation.includes(transport.localPeer.id)
        // Only other devices were added, so stay in the session.
        if earlier?.sessionID == invitation.sessionID, isIncluded == (part == .member) {
            inviteLatecomers()
            return await keep(invitation)
        }
        if earlier != nil, earlier?.sessionID != invitation.sessionID, let session, !isOver(session.state) {
            onChange(.superseded)
        }
        // A device that tries again to open a session goes on watching it.
        if earlier != nil { leave() }
        if isIncluded {
            await join(invitation)
        } else {
            watch(invitation)
        }
        await keep(invitation)
    }

    private func join(_ invitation: SessionInvitation) async {
        part = .member
        do {
            let session = try await opening(invitation.sessionID) { configuration in
                configuration.incarnation = incarnation
                let own = SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
                let isOfPair = invitation.members.count <= 2 && invitation.members.contains { $0.peerID == own.peerID }
                // Two devices form a group without configuration, even if one of them returns without its store.
                if isOfPair { return }
                if invitation.members.contains(own) {
                    configuration.members = invitation.members
                } else {
                    configuration.waitsForInvitation = true
                }
            }
            self.session = session
            observed = nil
            openingBackoff.reset()
            board.solve(.storeFailed, of: featureID)
            onChange(invitation == openedHere ? .opened : .joined)
            session.start()
            inviteLatecomers()
        } catch {
            fail(error, of: featureID)
            watch(invitation)
            retryOpeningLater()
        }
    }

    private func retryOpeningLater() {
        openingTimer.cancel()
        openingTimer.hold([
            Task { [weak self, wait = base.wait, pause = openingBackoff.next()] in
                try? await wait(pause)
                await self?.settled()
                if !Task.isCancelled { self?.retryOpening() }
            }
        ])
    }

    /// Invites all devices of the session. Each member does so, because the one that invited a device may be gone. A
    /// member of the first pair that lost its store needs this too, once others have joined.
    private func inviteLatecomers() {
        guard let session, let followed, followed.latecomers != nil else { return }
        for device in followed.allDevices where device.peerID != transport.localPeer.id {
            session.invite(device.peerID)
        }
    }

    private func watch(_ invitation: SessionInvitation) {
        part = .spectator
        onChange(.watching)
        Task { try? await transport.requestSnapshot(sessionID: invitation.sessionID) }
    }

    /// Leaves the current session. A session that is over closes once the others have its end; any other stops at once.
    private func leave() {
        if let session {
            if isOver(session.state) {
                Task { try? await session.close() }
            } else {
                session.stop()
            }
        }
        session = nil
        observed = nil
        part = .none
    }
}
