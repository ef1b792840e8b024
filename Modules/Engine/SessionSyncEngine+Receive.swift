public import MeshIdentity

extension SessionSyncEngine {
    /// Takes an event of any source; its own echo is a duplicate, its own from before a lost store applies.
    ///
    /// - Throws: `SessionSyncError`: `sessionMismatch`, `featureMismatch`, `payloadTypeMismatch`,
    ///   `unsupportedProtocolVersion`, `tooManySources`. Nothing changes then.
    public mutating func receive(_ envelope: SessionSyncEnvelope<Event>) throws -> SessionSyncReceiveResult<State> {
        let metadata = envelope.metadata
        try check(metadata, payloadType: payloadType)
        try store.admit(metadata)

        let source = store.vectorKey(of: metadata)
        let expected = (store.lastSequenceByPeerID[source] ?? 0) + 1
        guard metadata.sequence >= expected else { return .duplicate(state) }
        guard metadata.sequence == expected else {
            return .snapshotRequired(expectedSequence: expected, receivedSequence: metadata.sequence)
        }

        let isKnownByID = store.explicitEventIDs.contains(metadata)
        // An event without effect is recorded like any other, so that the ones after it are not taken for a gap.
        let next = isKnownByID ? nil : (try? reduced(envelope.payload, metadata)) ?? nil
        if let next { apply(next, metadata) }
        record(metadata, source: source)
        if isKnownByID { return .duplicate(state) }
        return next == nil ? .ignored(state) : .applied(state)
    }

    private mutating func record(_ metadata: SessionSyncMetadata, source: String) {
        store.lastSequenceByPeerID[source] = metadata.sequence
        store.explicitEventIDs.insert(metadata)
        clock.observe(metadata.stamp)
        if source == localPeerID { store.nextLocalSequence = metadata.sequence + 1 }
    }
}
