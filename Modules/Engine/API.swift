public import MeshIdentity

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension SessionSyncEngine {
    public init(
        restoring image: SessionEngineImage<State, Event>, reducer: Reducer, conflictPolicy: ConflictPolicy,
        seed: UInt64, options: SessionEngineOptions<State, Event> = .init()
    ) {
        self.init(
            sessionID: image.sessionID, featureID: image.featureID, localPeerID: image.source.peerID,
            payloadType: image.payloadType, snapshotPayloadType: image.snapshotPayloadType,
            initialState: image.base.reduced.state, reducer: reducer, conflictPolicy: conflictPolicy,
            incarnation: image.source.incarnation, seed: seed, options: options)
    }

    /// Everything that outlives the process.
    public var image: SessionEngineImage<State, Event> { fatalError() }
    /// The same store's history as another source: after `.forked` of the local source. Unsealed; own events that
    /// were not confirmed are issued again once it has joined.
    public func reincarnated(as incarnation: UInt32, seed: UInt64) -> Self { self }

    public var source: SessionSource { SessionSource(peerID: localPeerID, incarnation: incarnation) }
    public var group: SessionSource? { nil }
    public var isSealed: Bool { false }
    public var hasEnded: Bool { false }
    public var membership: SessionMembership { SessionMembership() }
    public var cut: HybridTimestamp { .zero }
    /// Densely held of each source.
    public var held: SequenceVector { SequenceVector() }
    /// Confirmed entries since the group began, replacements included.
    public var confirmedCount: UInt64 { 0 }
    /// Entries above the base.
    public var logCount: Int { 0 }
    public var ownUnconfirmedCount: Int { 0 }
    /// Events that wait for earlier ones.
    public var gapCount: Int { 0 }
    public var chain: ConfirmationChain { ConfirmationChain() }
    /// A peer's state-only snapshot is shown, of which the events are not held.
    public var isProvisional: Bool { false }
    /// What is missing and asked for.
    public var missing: [SessionRange] { [] }
    public func records(in range: SessionRange) -> [SessionRecord<Event>] { [] }

    public mutating func receiveControl(_ envelope: SessionSyncEnvelope<SessionControl>, at moment: Date) throws {}
    /// Takes a copy: adopts it when unsealed and named in it, else reads it like a control.
    /// - Returns: whether it was adopted.
    @discardableResult
    public mutating func adopt(
        _ checkpoint: SessionCheckpoint<State, Event>, from metadata: SessionSyncMetadata, at moment: Date
    ) throws -> Bool { false }
    public mutating func receiveOpaque(_ metadata: SessionSyncMetadata, bytes: [UInt8], codec: UInt8) throws
        -> SessionSyncReceiveResult<State>
    { .ignored(state) }
    /// Makes the periodic control to every peer; call it about once a second, and more often while something is missing.
    public mutating func tick(at moment: Date) {}
    /// Every event that the last call put in its place, in order.
    public mutating func takeApplied() -> [SessionAppliedEvent<Event>] { [] }
    public mutating func takeDirectives() -> SessionDirectives<State, Event> {
        SessionDirectives(persist: nil, confirmed: [], outgoing: [], alarms: [])
    }
    public mutating func markSideEffects(through position: UInt64) {}
    public var sideEffectsDue: [SessionConfirmedEvent<Event>] { [] }
    /// The session is over here: every call that takes something throws `SessionSyncError.sessionEnded` from now on.
    public mutating func end() {}
}
