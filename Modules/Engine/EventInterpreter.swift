public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Gives an event its effect: policy, then reducer, on every replica alike and at the ordered place.
///
/// A reducer and a policy see only facts that are equal on every replica: what belongs to one delivery (promise,
/// acknowledgement, group) is taken out of the metadata.
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
    @usableFromInline var mutations: EngineMutations

    /// What reducers read about an entry.
    @inlinable
    func metadata(of entry: LogEntry<Event>, source: SessionSource) -> SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: 1, sessionID: sessionID, featureID: featureID, sourcePeerID: source.peerID,
            eventID: entry.eventID, sequence: entry.sequence, causalTimestamp: entry.causalTimestamp,
            monotonicTimestamp: entry.monotonicTimestamp, payloadType: payloadType, stamp: entry.stamp,
            incarnation: source.incarnation)
    }

    /// Applies the entry in place.
    /// - Throws: what the reducer throws; the state may be half changed then and has to be restored.
    @inlinable
    func reduce(
        _ reduced: inout ReducedState<State>, _ entry: LogEntry<Event>, metadata: @autoclosure () -> SessionSyncMetadata
    ) throws -> SessionEventOutcome {
        guard case .event(let event) = entry.content else { return entry.isOpaque ? .unread : .applied }
        if let id = entry.eventID, !reduced.remember(id) { return .repeated }
        let metadata = metadata()
        guard shouldApply(event, reduced, entry, metadata) else { return .rejected }
        try reducer.reduce(state: &reduced.state, event: event, context: SessionEventContext(metadata: metadata))
        reduced.lastAppliedMetadata = metadata
        return .applied
    }

    @inlinable
    func shouldApply(
        _ event: Event, _ reduced: ReducedState<State>, _ entry: LogEntry<Event>, _ metadata: SessionSyncMetadata
    ) -> Bool {
        if !mutations.isEmpty {
            if mutations.contains(.policyRemoteOnly), entry.slot == 0 { return true }
            if mutations.contains(.policyFrozen), let outcome = entry.outcome { return outcome == .applied }
        }
        return conflictPolicy.shouldApply(
            event: event,
            context: SessionConflictContext(
                state: reduced.state, lastAppliedMetadata: reduced.lastAppliedMetadata, metadata: metadata))
    }
}

extension ReducedState {
    /// How many explicit ids are remembered. Part of the state: every replica forgets the same ones.
    public static var recentEventIDsMax: Int { 256 }

    /// - Returns: false when the id is one of those that came last.
    @usableFromInline
    mutating func remember(_ id: UUID) -> Bool {
        guard !recentEventIDs.contains(id) else { return false }
        if recentEventIDs.count == Self.recentEventIDsMax { recentEventIDs.removeFirst() }
        recentEventIDs.append(id)
        return true
    }
}
