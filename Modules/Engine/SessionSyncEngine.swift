public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One feature's session as a value: events go in, the state and what to send come out.
///
/// Every peer runs the same engine over the same reducer. The engine does no I/O and has no clock and no randomness; the
/// caller passes the time of each local event and sends what `submitLocal` returns.
///
/// **What holds today.** Each source's events apply once and in their order. As long as events of different peers are
/// not concurrent (each was submitted after its author had applied the others), all peers reach the same state. Concurrent
/// events apply in the order in which they arrive, which may differ between peers; the next snapshot that is exchanged
/// brings the peers back together, on the state of the higher revision. Between concurrent snapshots the higher revision
/// wins too, and what only the other one includes is no longer in the state. See Docs/Architecture.md.
public struct SessionSyncEngine<State, Event, Reducer, ConflictPolicy>: Sendable
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    public let sessionID: UUID
    public let featureID: String
    public let localPeerID: String
    public let payloadType: String
    public let snapshotPayloadType: String
    /// Which store of this peer writes: 32 random bits drawn when the store was created, 0 without one.
    public let incarnation: UInt32
    /// Names the group in metadata: 0 before there is one.
    public var epoch: UInt32 { 0 }

    public internal(set) var store: SessionSyncStore<State>
    var clock = HybridLogicalClock()
    let reducer: Reducer
    let conflictPolicy: ConflictPolicy

    public init(
        sessionID: UUID, featureID: String, localPeerID: String, payloadType: String, snapshotPayloadType: String,
        initialState: State, reducer: Reducer, conflictPolicy: ConflictPolicy, incarnation: UInt32 = 0,
        seed: UInt64 = 0, members: [SessionSource] = [], options: SessionEngineOptions<State, Event> = .init()
    ) {
        self.sessionID = sessionID
        self.featureID = featureID
        self.localPeerID = localPeerID
        self.payloadType = payloadType
        self.snapshotPayloadType = snapshotPayloadType
        self.incarnation = incarnation
        self.reducer = reducer
        self.conflictPolicy = conflictPolicy
        store = SessionSyncStore(state: initialState, localPeerID: localPeerID)
        store.incarnationByPeerID[localPeerID] = incarnation
    }

    public var state: State { store.state }

    /// Applies a local event at once and returns the envelope to send.
    ///
    /// When the policy rejects the event, the envelope is returned all the same and the state stays as it is.
    /// - Parameter moment: the time of the tap.
    /// - Throws: what the reducer throws; no sequence is taken then.
    public mutating func submitLocal(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        var advanced = clock
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, sequence: store.nextLocalSequence,
            causalTimestamp: moment, payloadType: payloadType,
            stamp: advanced.tick(wallMilliseconds: moment.millisecondsSince1970), incarnation: incarnation, epoch: epoch
        )
        if let next = try reduced(event, metadata) { apply(next, metadata) }
        clock = advanced
        store.lastSequenceByPeerID[localPeerID] = metadata.sequence
        store.nextLocalSequence += 1
        return SessionSyncEnvelope(metadata: metadata, payload: event)
    }

    /// The revision for a snapshot that is about to be sent: higher than any sent or applied here.
    public mutating func allocateOutgoingSnapshotRevision() -> UInt64 {
        store.snapshotRevision += 1
        store.snapshotSourcePeerID = localPeerID
        return store.snapshotRevision
    }

    /// A snapshot to send: the state, and what it includes.
    public mutating func makeSnapshot(at moment: Date) -> SessionSyncSnapshot<State> {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, sequence: store.nextLocalSequence,
            causalTimestamp: moment, payloadType: snapshotPayloadType,
            stamp: clock.tick(wallMilliseconds: moment.millisecondsSince1970), incarnation: incarnation, epoch: epoch)
        return SessionSyncSnapshot(
            metadata: metadata, revision: allocateOutgoingSnapshotRevision(), state: state,
            peerSequenceVector: store.lastSequenceByPeerID)
    }

    /// The state after the event; nil when the policy rejects it.
    func reduced(_ event: Event, _ metadata: SessionSyncMetadata) throws -> State? {
        let context = SessionConflictContext(
            state: store.state, lastAppliedMetadata: store.lastAppliedMetadata, metadata: metadata)
        guard conflictPolicy.shouldApply(event: event, context: context) else { return nil }
        var next = store.state
        try reducer.reduce(state: &next, event: event, context: SessionEventContext(metadata: metadata))
        return next
    }

    mutating func apply(_ next: State, _ metadata: SessionSyncMetadata) {
        store.state = next
        store.lastAppliedMetadata = metadata
    }

    /// Every call that takes something from a peer begins here.
    func check(_ metadata: SessionSyncMetadata, payloadType: String) throws {
        guard metadata.sessionID == sessionID else { throw SessionSyncError.sessionMismatch }
        guard metadata.featureID == featureID else { throw SessionSyncError.featureMismatch }
        guard metadata.payloadType == payloadType else { throw SessionSyncError.payloadTypeMismatch }
        guard (1...SessionSyncProtocol.currentVersion).contains(metadata.protocolVersion) else {
            throw SessionSyncError.unsupportedProtocolVersion(
                received: metadata.protocolVersion, supported: SessionSyncProtocol.currentVersion)
        }
    }
}
