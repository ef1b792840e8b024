public import MeshIdentity

/// Turns events into state, on every peer alike.
///
/// To the implementer: `reduce` must be pure and deterministic. It must read nothing but its arguments: no clock, no
/// randomness, no settings of the device, and nothing that tells a local event from a remote one. An error rejects the
/// event: a local one is never submitted, a remote one is recorded without effect.
public protocol SessionSyncReducer<State, Event>: Sendable {
    associatedtype State: Codable & Sendable
    associatedtype Event: Codable & Sendable

    func reduce(state: inout State, event: Event, context: SessionEventContext) throws
}

/// What a reducer may know beside the event: only facts that are equal on every replica.
public struct SessionEventContext: Sendable {
    public let metadata: SessionSyncMetadata

    @inlinable
    public init(metadata: SessionSyncMetadata) { self.metadata = metadata }
}

/// Decides whether an event still makes sense at its place. Runs for local and remote events alike.
///
/// To the implementer: `shouldApply` must be pure and deterministic, like a reducer.
public protocol SessionConflictPolicy<State, Event>: Sendable {
    associatedtype State: Codable & Sendable
    associatedtype Event: Codable & Sendable

    func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool
}

public struct SessionConflictContext<State: Sendable>: Sendable {
    public let state: State
    /// The previous event in the order in which this replica applies.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The event's own.
    public let metadata: SessionSyncMetadata

    @inlinable
    public init(state: State, lastAppliedMetadata: SessionSyncMetadata?, metadata: SessionSyncMetadata) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.metadata = metadata
    }
}

/// Applies every event.
public struct AcceptingConflictPolicy<State: Codable & Sendable, Event: Codable & Sendable>: SessionConflictPolicy {
    public init() {}

    @inlinable
    public func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool { true }
}
