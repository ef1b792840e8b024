import Foundation
import MeshEngine
import MeshIdentity
import MeshTransport

/// How devices agree on one session, and what each does once they have.
extension SessionLobby {
    /// How this device signs the events of a session.
    private var source: SessionSource {
        session?.source ?? SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
    }

    // MARK: - Invitations

    /// Goes with that invitation if it is greater than the one so far, or names more devices of the same session, and passes
    /// it on.
    /// - Parameter peerID: who says so; nil for this device. A third device is not believed.
    func consider(_ heard: SessionInvitation, from peerID: String? = nil) {
        let isVouchedFor = peerID.map { heard.includes($0) || heard.includes(transport.localPeer.id) } ?? true
        guard heard.isUsable(at: base.now()), isVouchedFor else { return }
        if peerID != nil, let invitation, !heard.isWithinStep(of: invitation) { return }
        var heard = heard
        if let invitation {
            if invitation.isOfOneSession(as: heard) {
                heard = invitation.merged(with: heard)
                guard heard != invitation else { return }
            } else {
                guard isGreater(heard, than: invitation) else { return }
            }
        }
        invitation = heard
        nameMembers()
        publish()
        goAlong()
    }

    /// Goes over to the invitation's session, and to the next where another one has come meanwhile.
    func goAlong() {
        guard life != nil, following == nil else { return }
        following = Task {
            while let next = invitation, next != followed { await follow(next) }
            following = nil
        }
    }

    private func isGreater(_ heard: SessionInvitation, than present: SessionInvitation) -> Bool {
        present < heard
    }

    /// An opener that has been alone is joined by the first that comes.
    func takeInFirst() {
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
        let takesPart = invitation.includes(transport.localPeer.id)
        // Somebody else was taken in.
        if earlier?.sessionID == invitation.sessionID, takesPart == (part == .member) {
            letLatecomersIn()
            return await keep(invitation)
        }
        if earlier != nil, earlier?.sessionID != invitation.sessionID, let session, !isOver(session.state) {
            onChange(.superseded)
        }
        leave()
        if takesPart {
            await takePart(in: invitation)
        } else {
            watch(invitation)
        }
        await keep(invitation)
    }

    private func takePart(in invitation: SessionInvitation) async {
        part = .member
        do {
            let session = try await opening(invitation.sessionID) { configuration in
                configuration.incarnation = incarnation
                let own = SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
                let isOfPair = invitation.members.count <= 2 && invitation.members.contains { $0.peerID == own.peerID }
                // Two find together by themselves, also when one of them comes back without its store.
                if isOfPair { return }
                if invitation.members.contains(own) {
                    configuration.members = invitation.members
                } else {
                    configuration.waitsForInvitation = true
                }
            }
            self.session = session
            board.solve(.storeFailed, of: featureID)
            onChange(invitation == openedHere ? .opened : .joined)
            session.start()
            letLatecomersIn()
        } catch {
            fail(error, of: featureID)
            watch(invitation)
        }
    }

    /// Each member does: who has invited one may be gone. And of a pair that others have joined, one that comes back without
    /// its store does not find together with its partner by itself any more.
    private func letLatecomersIn() {
        guard let session, let followed, followed.latecomers != nil else { return }
        for device in followed.everybody where device.peerID != transport.localPeer.id {
            session.invite(device.peerID)
        }
    }

    private func watch(_ invitation: SessionInvitation) {
        part = .spectator
        onChange(.watching)
        Task { try? await transport.requestSnapshot(sessionID: invitation.sessionID) }
    }

    /// A session that is over stays until the others have its end; one that lost to another ends at once.
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
