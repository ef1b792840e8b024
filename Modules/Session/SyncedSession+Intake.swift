import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshTransport

extension SyncedSession {
    func receive(_ erased: AnySessionSyncEnvelope) {
        guard phase == .running, isMine(erased.metadata) else { return }
        do {
            let envelope = SessionSyncEnvelope(
                metadata: erased.metadata, payload: try erased.decodePayload(as: Event.self))
            switch try engine.receive(envelope) {
            case .applied(let state):
                self.state = state
                statistics.applied += 1
                remoteEventTopic.publish(envelope)
            case .duplicate: statistics.duplicates += 1
            case .ignored: statistics.ignored += 1
            case .snapshotRequired:
                statistics.gaps += 1
                requestSnapshot()
            }
        } catch {
            statistics.rejected += 1
        }
    }

    func receive(_ erased: AnySessionSyncSnapshot) {
        guard phase == .running, isMine(erased.metadata), erased.metadata.sourcePeerID != engine.localPeerID else {
            return
        }
        do {
            let snapshot = SessionSyncSnapshot(
                metadata: erased.metadata, revision: erased.revision, state: try erased.decodeState(as: State.self),
                peerSequenceVector: erased.peerSequenceVector)
            if isStale(snapshot) { staleSnapshot = erased }
            guard !isStale(snapshot), !configuration.isIdle(snapshot.state) else {
                statistics.snapshotsRefused += 1
                requestSnapshot()
                return
            }
            switch try engine.applySnapshot(snapshot) {
            case .applied(let state):
                self.state = state
                statistics.snapshotsApplied += 1
                remoteSnapshotTopic.publish(snapshot)
            case .staleIgnored: statistics.snapshotsStale += 1
            }
        } catch {
            statistics.rejected += 1
        }
    }

    func receive(_ request: SessionSnapshotRequest) {
        guard phase == .running, request.sessionID == sessionID, engine.hasHistory else { return }
        answer(request.requester)
    }

    func receive(_ change: SessionPeerReachability) {
        guard phase == .running else { return }
        if let peer = change.peer {
            if change.isReachable { reachablePeerIDs.insert(peer.id) } else { reachablePeerIDs.remove(peer.id) }
        }
        guard change.isReachable else { return }
        if let staleSnapshot {
            // Now a live peer stands behind it.
            self.staleSnapshot = nil
            receive(staleSnapshot)
        }
        if engine.hasHistory { answer(change.peer) }
    }

    private func isMine(_ metadata: SessionSyncMetadata) -> Bool {
        metadata.featureID == featureID && metadata.sessionID == sessionID
    }

    /// Only a retained snapshot without a live peer behind it can be too old: a workout may be paused for an hour.
    private func isStale(_ snapshot: SessionSyncSnapshot<State>) -> Bool {
        guard isRetained(snapshot), reachablePeerIDs.isEmpty else { return false }
        let sentAt = snapshot.metadata.causalTimestamp.addingTimeInterval(-configuration.clockOffsetSeconds)
        return configuration.now().timeIntervalSince(sentAt) > configuration.stalenessBudget.seconds
    }

    private func isRetained(_ snapshot: SessionSyncSnapshot<State>) -> Bool {
        guard let retained = retainedSnapshot else { return false }
        return retained.revision == snapshot.revision
            && retained.metadata.sourcePeerID == snapshot.metadata.sourcePeerID
            && retained.metadata.incarnation == snapshot.metadata.incarnation
    }
}

extension SessionSyncEngine {
    /// Whether there is anything that a peer could not know without this one.
    var hasHistory: Bool { !store.lastSequenceByPeerID.isEmpty }
}
