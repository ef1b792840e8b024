import Foundation
import MeshConnection
import MeshEngine
import MeshIdentity
import MeshSession
import MeshStorage
import MeshTransport

/// How devices agree on one workout, and what each does once they have.
extension LiveWorkout {
    /// How this device signs the events of a workout.
    private var source: SessionSource {
        session?.source ?? SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
    }

    /// Devices that are told apart; of more than these nothing is known.
    private static var companionsMax: Int { 64 }

    func listen() {
        let snapshots = transport.receiveSnapshots()
        let reachability = transport.reachabilityChanges()
        listeners = [
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await change in reachability { self?.receive(change) } },
        ]
    }

    private func receive(_ snapshot: AnySessionSyncSnapshot) {
        let metadata = snapshot.metadata
        guard metadata.sourcePeerID != transport.localPeer.id else { return }
        // Who sends it is the transport's to say: a notice of another life, or a state of somebody who takes no part, is none.
        if metadata.featureID == WorkoutNotice.featureID,
            let notice = try? snapshot.decodeState(as: WorkoutNotice.self), notice.incarnation == metadata.incarnation
        {
            receive(notice, from: metadata.sourcePeerID)
        } else if part == .spectator, metadata.featureID == WorkoutSession.workoutFeatureID,
            metadata.sessionID == followed?.sessionID, followed?.includes(metadata.sourcePeerID) == true,
            let state = try? snapshot.decodeState(as: WorkoutState.self),
            state.eventCount >= watched.eventCount
        {
            watched = state
            continuation.yield(.status)
        }
    }

    private func receive(_ notice: WorkoutNotice, from peerID: String) {
        guard notices[peerID] != nil || notices.count < Self.companionsMax else { return }
        notices[peerID] = WorkoutNotice(
            name: WorkoutNotice.shown(notice.name), incarnation: notice.incarnation, invitation: nil)
        if let heard = notice.invitation { consider(heard) }
        takeInFirst()
        continuation.yield(.status)
    }

    private func receive(_ change: SessionPeerReachability) {
        guard let peer = change.peer else { return }
        if change.isReachable {
            reachable.insert(peer.id)
            // It may have been launched anew, and know nothing.
            publish()
        } else {
            reachable.remove(peer.id)
        }
        takeInFirst()
        continuation.yield(.status)
    }

    // MARK: - Invitations

    /// A new workout of this device and those that are connected.
    func open() {
        let number = (invitation?.number ?? 0).addingReportingOverflow(1)
        let own = SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
        let opened = WorkoutInvitation(
            sessionID: UUID(), number: number.overflow ? .max : number.partialValue, openedAt: base.now(),
            members: [own] + connectedSources.prefix(membersMax - 1))
        openedHere = opened
        consider(opened)
    }

    /// Goes with that invitation if it is greater than the one so far, and passes it on.
    func consider(_ heard: WorkoutInvitation) {
        guard heard.isUsable, invitation.map({ $0 < heard }) ?? true else { return }
        invitation = heard
        publish()
        guard following == nil else { return }
        following = Task {
            while let next = invitation, next != followed { await follow(next) }
            following = nil
        }
    }

    /// An opener that has been alone is joined by the first that comes.
    private func takeInFirst() {
        guard let invitation, invitation.members == [source], let first = connectedSources.first else { return }
        consider(invitation.adding(first))
    }

    private var connectedSources: [SessionSource] {
        notices.filter { reachable.contains($0.key) && $0.key != transport.localPeer.id }
            .map { SessionSource(peerID: $0.key, incarnation: $0.value.incarnation) }.sorted()
    }

    /// Tells every device, also those that come later.
    func publish() {
        mustPublish = true
        guard !isPublishing else { return }
        isPublishing = true
        Task {
            while mustPublish {
                mustPublish = false
                try? await transport.sendSnapshot(notice(), mode: .latestSnapshot, to: nil)
            }
            isPublishing = false
        }
    }

    private func notice() throws -> AnySessionSyncSnapshot {
        revision += 1
        let metadata = SessionSyncMetadata(
            sessionID: TransportConnection.sharedScope, featureID: WorkoutNotice.featureID,
            sourcePeerID: transport.localPeer.id, sequence: revision, causalTimestamp: base.now(),
            payloadType: WorkoutNotice.payloadType, incarnation: incarnation)
        let notice = WorkoutNotice(name: name, incarnation: incarnation, invitation: invitation)
        return try AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: revision, state: notice, peerSequenceVector: [:]))
    }

    // MARK: - Sessions

    private func follow(_ invitation: WorkoutInvitation) async {
        let earlier = followed
        followed = invitation
        let takesPart = invitation.includes(transport.localPeer.id)
        // Its opener took somebody in.
        if earlier?.sessionID == invitation.sessionID, takesPart == (part == .member) { return }
        if earlier != nil, earlier?.sessionID != invitation.sessionID, part == .member, state.phase != .finished {
            continuation.yield(.superseded)
        }
        leave()
        if takesPart {
            await takePart(in: invitation)
        } else {
            watch(invitation)
        }
        await keep(invitation)
    }

    private func takePart(in invitation: WorkoutInvitation) async {
        part = .member
        do {
            let session = try await WorkoutSession.openWorkout(sessionID: invitation.sessionID, over: transport) {
                configure(&$0)
                $0.incarnation = incarnation
                // Two find together by themselves, also when one of them comes back without its store.
                guard invitation.members.count > 2 else { return }
                let own = SessionSource(peerID: transport.localPeer.id, incarnation: incarnation)
                if invitation.members.contains(own) { $0.members = invitation.members } else { $0.joins = true }
            }
            self.session = session
            listen(to: session)
            session.start()
            continuation.yield(invitation == openedHere ? .opened : .joined)
        } catch {
            fail(error)
            watch(invitation)
        }
    }

    private func watch(_ invitation: WorkoutInvitation) {
        part = .spectator
        continuation.yield(.watching)
        Task { try? await transport.requestSnapshot(sessionID: invitation.sessionID) }
    }

    /// A workout that is over stays until the others have its end; one that lost to another ends at once.
    func leave() {
        for listener in sessionListeners { listener.cancel() }
        sessionListeners = []
        if let session {
            if session.state.phase == .finished { Task { try? await session.close() } } else { session.stop() }
        }
        session = nil
        watched = WorkoutState()
        part = .none
    }

    private func listen(to session: WorkoutSession) {
        let (states, statuses) = (session.states(), session.statuses())
        let (events, alarms) = (session.remoteEvents(), session.alarms())
        let heartRates = session.shownValues(.heartRate)
        let changed = continuation
        sessionListeners = [
            Task { for await _ in states { changed.yield(.status) } },
            Task { for await _ in statuses { changed.yield(.status) } },
            Task {
                for await event in events { changed.yield(.tapped(event.payload, by: event.metadata.sourcePeerID)) }
            },
            Task { for await alarm in alarms { changed.yield(.alarm(alarm)) } },
            Task { for await _ in heartRates { changed.yield(.status) } },
        ]
    }

    // MARK: - The store

    private nonisolated static var key: String { "\(WorkoutSession.workoutFeatureID)/invitation" }

    func keptInvitation() async -> WorkoutInvitation? {
        guard let store = base.store else { return nil }
        do {
            let bytes = try await Task.detached { try store.value(for: Self.key) }.value
            return try bytes.map { try JSONDecoder().decode(WorkoutInvitation.self, from: Data($0)) }
        } catch {
            fail(error)
            return nil
        }
    }

    private func keep(_ invitation: WorkoutInvitation) async {
        guard let store = base.store else { return }
        do {
            var batch = StoreBatch()
            batch.set(Array(try JSONEncoder().encode(invitation)), for: Self.key)
            try await Task.detached { [batch] in try store.commit(batch) }.value
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: any Error) {
        storeError = error
        continuation.yield(.storeFailed(error))
    }
}
