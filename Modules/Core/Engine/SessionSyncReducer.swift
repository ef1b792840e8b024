public import MeshIdentity

/// Turns events into state, on every peer alike.
///
/// To the implementer: `reduce` must be pure and deterministic. It must read nothing but its arguments: no clock, no
/// randomness, no settings of the device, and nothing that tells a local event from a remote one. An error rejects the
/// event: a local one is never submitted, a remote one is recorded without effect.
public protocol SessionSyncReducer<State, Event>: Sendable {
    /// One feature's state.
    associatedtype State: Codable & Sendable
    /// What may happen to it.
    associatedtype Event: Codable & Sendable

    /// Applies one event.
    ///
    /// - Throws: any error, to reject the event; what was done to `state` then is undone.
    func reduce(state: inout State, event: Event, context: SessionEventContext) throws
}

/// What a reducer may know beside the event: only facts that are equal on every replica.
public struct SessionEventContext: Sendable {
    /// The event's own: who, when, which session, which event id.
    public let metadata: SessionSyncMetadata

    /// For tests of a reducer: an engine makes its own.
    @inlinable
    public init(metadata: SessionSyncMetadata) { self.metadata = metadata }
}

/// Decides whether an event still makes sense at its place. Runs for local and remote events alike.
///
/// To the implementer: `shouldApply` must be pure and deterministic, like a reducer.
public protocol SessionConflictPolicy<State, Event>: Sendable {
    /// One feature's state.
    associatedtype State: Codable & Sendable
    /// What may happen to it.
    associatedtype Event: Codable & Sendable

    /// Whether the event is to be reduced. A rejected one keeps its sequence and changes nothing.
    func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool
}

/// What a policy may know beside the event: only facts that are equal on every replica.
public struct SessionConflictContext<State: Sendable>: Sendable {
    /// The state before the event, at the event's place in the order.
    public let state: State
    /// The previous event in the order in which this replica applies.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The event's own.
    public let metadata: SessionSyncMetadata

    /// For tests of a policy: an engine makes its own.
    @inlinable
    public init(state: State, lastAppliedMetadata: SessionSyncMetadata?, metadata: SessionSyncMetadata) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.metadata = metadata
    }
}

/// Applies every event.
public struct AcceptingConflictPolicy<State: Codable & Sendable, Event: Codable & Sendable>: SessionConflictPolicy {
    /// A policy that rejects nothing.
    public init() {}

    /// Always true.
    @inlinable
    public func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool { true }
}
