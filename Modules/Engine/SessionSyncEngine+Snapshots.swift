public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension SessionSyncEngine {
    /// Takes a peer's full state, without the events that led to it, if it says more than the local one.
    ///
    /// In a group it changes nothing: what it says more is asked for, as events. Unsealed, vectors decide: a state that
    /// includes more is shown, with the local events that it lacks replayed on top; one that includes less is stale. Of
    /// two shown states that include the same, the higher revision wins, then the lower peer id. What is shown never
    /// becomes the base: as soon as the events themselves are held, their order decides.
    /// - Throws: as `receive`. Nothing changes then.
    public mutating func applySnapshot(_ snapshot: SessionSyncSnapshot<State>) throws -> SessionSyncSnapshotResult<
        State
    > {
        let metadata = snapshot.metadata
        try check(metadata, payloadType: snapshotPayloadType)
        let included = snapshot.includedSequences
        guard included.count <= SessionSyncStore<State>.sourcesMax else {
            throw SessionSyncError.tooManySources(limit: SessionSyncStore<State>.sourcesMax)
        }
        forgetApplied()
        let shown = visibleVector
        let saysMore = included.contains { $0.value > shown[$0.key] ?? 0 }
        let saysLess = shown.contains { $0.value > included[$0.key] ?? 0 }

        if sealed {
            if saysMore { pending.controls.insert(metadata.sourcePeerID) }
            return .staleIgnored(state: state, currentRevision: snapshotRevision)
        }
        // Neither says more: shown states may differ, but nothing supersedes events that are held.
        let isTie = !saysMore && !saysLess && provisional != nil && isPreferred(snapshot)
        guard saysMore || isTie else {
            let revision = snapshotRevision
            if !saysLess { snapshotRevision = max(snapshotRevision, snapshot.revision) }
            return .staleIgnored(state: state, currentRevision: revision)
        }
        snapshotRevision = max(snapshotRevision, snapshot.revision)
        snapshotSourcePeerID = metadata.sourcePeerID
        if !sources.records.contains(where: { $0.source.peerID == metadata.sourcePeerID }) {
            _ = try sources.slot(adding: SessionSource(metadata))
        }
        observe(metadata.stamp.rawValue < StampLimits.unusable ? metadata.stamp : .zero)
        continueSequence(after: included[localPeerID] ?? 0)
        if mutations.contains(.snapshotAsBase), !saysLess {
            takeAsBase(snapshot.state, included)
        } else {
            show(snapshot.state, including: included)
        }
        return .applied(state)
    }

    /// The revision for a snapshot that is about to be sent: higher than any sent or applied here.
    public mutating func allocateOutgoingSnapshotRevision() -> UInt64 {
        snapshotRevision += 1
        snapshotSourcePeerID = localPeerID
        return snapshotRevision
    }

    /// A snapshot to send: the state, and what it includes.
    public mutating func makeSnapshot(at moment: Date) -> SessionSyncSnapshot<State> {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, sequence: sources[0].held + 1,
            causalTimestamp: moment, payloadType: snapshotPayloadType,
            stamp: clock.tick(wallMilliseconds: moment.wallMilliseconds), incarnation: incarnation, epoch: groupTag)
        return SessionSyncSnapshot(
            metadata: metadata, revision: allocateOutgoingSnapshotRevision(), state: state,
            peerSequenceVector: visibleVector)
    }

    private func isPreferred(_ snapshot: SessionSyncSnapshot<State>) -> Bool {
        if snapshot.revision != snapshotRevision { return snapshot.revision > snapshotRevision }
        return snapshot.metadata.sourcePeerID < snapshotSourcePeerID
    }

    /// Without an incarnation a relaunched peer is the same source: it goes on behind what its peers have of it.
    private mutating func continueSequence(after sequence: UInt64) {
        guard incarnation == 0, sequence > sources[0].held, sequence < .max else { return }
        sources[0].held = sequence
        sources[0].first = sequence + 1
    }

    private mutating func takeAsBase(_ state: State, _ included: [String: UInt64]) {
        log = EventLog(base: ReducedState(state: state))
        for slot in sources.indices {
            sources[slot].held = included[sources.vectorKey(slot)] ?? 0
            sources[slot].folded = sources[slot].held
        }
        ownUnconfirmed = 0
        ownUnconfirmedBytes = 0
    }
}

extension SessionSyncSnapshot {
    /// The last sequence of each source that the state includes. A sender that leaves itself out of the vector includes
    /// its own events up to the one before its next; its own `sequence` is that next one and says nothing received.
    var includedSequences: [String: UInt64] {
        var included = peerSequenceVector
        if included[metadata.sourcePeerID] == nil, metadata.sequence > 1 {
            included[metadata.sourcePeerID] = metadata.sequence - 1
        }
        return included
    }
}
