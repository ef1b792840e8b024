public import MeshFoundation
public import MeshIdentity

/// What gives events their effect, and what all events of a session have in common.
@usableFromInline
struct EventInterpreter<State, Event, Reducer, ConflictPolicy>: Sendable
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    @usableFromInline let sessionID: UUID
    @usableFromInline let featureID: String
    @usableFromInline let payloadType: String
    @usableFromInline let reducer: Reducer
    @usableFromInline let conflictPolicy: ConflictPolicy

    /// What reducers read about an entry.
    @inlinable @inline(__always)
    func metadata(of entry: EntryHeader, source: SessionSource) -> SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: 1, sessionID: sessionID, featureID: featureID, sourcePeerID: source.peerID,
            explicitEventID: entry.eventID, sequence: entry.sequence, causalTimestamp: entry.causalTimestamp,
            monotonicTimestamp: entry.monotonicTimestamp, payloadType: payloadType, stamp: entry.stamp,
            incarnation: source.incarnation)
    }

    @inlinable @inline(__always)
    func metadata(of entry: EntryHeader, in sources: SourceTable) -> SessionSyncMetadata {
        metadata(of: entry, source: sources.records[entry.slot].source)
    }
}

extension ReducedState {
    /// How many explicit ids are remembered. Part of the state: every replica forgets the same ones.
    public static var recentEventIDsMax: Int { 256 }
}
