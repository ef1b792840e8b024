import Foundation
import MeshEngine
import MeshIdentity
import MeshStorage
import MeshTransport

/// How devices agree on one session, and what each does once they have.
extension SessionLobby {
    /// How this device signs the events of a session.
    private var source: SessionSource {
        session?.source ?? SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
    }

    // MARK: - Invitations

    /// Goes with that invitation if it is greater than the one so far, and passes it on.
    func consider(_ heard: SessionInvitation) {
        guard heard.isUsable, invitation.map({ $0 < heard }) ?? true else { return }
        invitation = heard
        nameMembers()
        publish()
        guard following == nil else { return }
        following = Task {
            while let next = invitation, next != followed { await follow(next) }
            following = nil
        }
    }

    /// An opener that has been alone is joined by the first that comes.
    func takeInFirst() {
        guard let invitation, invitation.members == [source], let first = connectedSources.first else { return }
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
        if earlier?.sessionID == invitation.sessionID, takesPart == (part == .member) { return }
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
                    configuration.joins = true
                }
            }
            self.session = session
            onChange(invitation == openedHere ? .opened : .joined)
            session.start()
        } catch {
            fail(error)
            watch(invitation)
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
            if isOver(session.state) { Task { try? await session.close() } } else { session.stop() }
        }
        session = nil
        sighting = nil
        part = .none
    }

    // MARK: - The store

    private var storeKey: String { "\(featureID)/invitation" }

    func keptInvitation() async -> SessionInvitation? {
        guard let store = base.store else { return nil }
        do {
            let bytes = try await Task.detached { [storeKey] in try store.value(for: storeKey) }.value
            return try bytes.map { try JSONDecoder().decode(SessionInvitation.self, from: Data($0)) }
        } catch {
            fail(error)
            return nil
        }
    }

    private func keep(_ invitation: SessionInvitation) async {
        guard let store = base.store else { return }
        do {
            var batch = StoreBatch()
            batch.set(Array(try JSONEncoder().encode(invitation)), for: storeKey)
            try await Task.detached { [batch] in try store.commit(batch) }.value
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: any Error) {
        storeError = error
        onChange(.storeFailed)
    }
}
