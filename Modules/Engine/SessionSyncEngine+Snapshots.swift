public import MeshIdentity

extension SessionSyncEngine {
    /// Takes a peer's full state if it says more than the local one.
    ///
    /// Vectors decide: a snapshot that includes everything held here applies, one that includes less is stale. Where
    /// neither includes the other, or both include the same, the higher revision wins, between equal revisions the lower
    /// peer id.
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

        let saysMore = included.contains { $0.value > store.lastSequenceByPeerID[$0.key] ?? 0 }
        let saysLess = store.lastSequenceByPeerID.contains { $0.value > included[$0.key] ?? 0 }
        let supersedes = saysMore == saysLess ? isPreferred(snapshot) : saysMore
        guard supersedes else { return .staleIgnored(state: state, currentRevision: store.snapshotRevision) }

        store.state = snapshot.state
        store.snapshotRevision = max(store.snapshotRevision, snapshot.revision)
        store.snapshotSourcePeerID = metadata.sourcePeerID
        take(included, from: metadata)
        clock.observe(metadata.stamp)
        return .applied(state)
    }

    private func isPreferred(_ snapshot: SessionSyncSnapshot<State>) -> Bool {
        if snapshot.revision != store.snapshotRevision { return snapshot.revision > store.snapshotRevision }
        return snapshot.metadata.sourcePeerID < store.snapshotSourcePeerID
    }

    private mutating func take(_ included: [String: UInt64], from metadata: SessionSyncMetadata) {
        let lastLocal = max(store.nextLocalSequence - 1, included[localPeerID] ?? 0)
        store.lastSequenceByPeerID = included
        if lastLocal > 0 { store.lastSequenceByPeerID[localPeerID] = lastLocal }
        store.nextLocalSequence = lastLocal + 1
        if store.incarnationByPeerID[metadata.sourcePeerID] == nil {
            store.incarnationByPeerID[metadata.sourcePeerID] = metadata.incarnation
        }
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
