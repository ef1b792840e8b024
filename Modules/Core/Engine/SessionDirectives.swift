public import MeshIdentity

/// The work for the caller after a batch of calls, in the order of the fields.
///
/// 1. `persist`: write it, or the complete `engine.image`. If that fails, do none of the rest. The engine in memory is
///    then ahead of the store, and you must restore it from the store.
/// 2. `confirmed`: run their side effects, then call `markSideEffects(through:)`.
/// 3. `outgoing`, and the envelopes that `submitLocal` returned: send them. Sending before writing breaks promises
///    after a crash.
/// 4. `alarms`: show or record them.
public struct SessionDirectives<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The changes to persist; nil if nothing that is persisted has changed.
    public var persist: SessionPersistence?
    /// The newly confirmed events in their final order, each once. At most `SessionEngineOptions.confirmedMax`; more
    /// wait in the engine.
    public var confirmed: [SessionConfirmedEvent<Event>]
    /// The messages to send, combined over the calls of the batch.
    public var outgoing: [SessionOutgoing<State, Event>]
    /// The faults that the engine found and can't repair.
    public var alarms: [SessionAlarm]

    @inlinable
    init(
        persist: SessionPersistence?, confirmed: [SessionConfirmedEvent<Event>],
        outgoing: [SessionOutgoing<State, Event>], alarms: [SessionAlarm]
    ) {
        self.persist = persist
        self.confirmed = confirmed
        self.outgoing = outgoing
        self.alarms = alarms
    }

    /// True if there is nothing to do.
    public var isEmpty: Bool { persist == nil && confirmed.isEmpty && outgoing.isEmpty && alarms.isEmpty }
}

/// The changes since the last call, for a store that doesn't write the complete image.
public struct SessionPersistence: Hashable, Sendable {
    /// The new entries of the log; `engine.records(in:)` returns them.
    public var appended: [SessionRange]
    /// True if the base, and with it the beginning of the log, has moved.
    public var movesBase: Bool
    /// True if members, promises, acknowledgements, cut or clock lease have changed. All of these are small.
    public var changesMembership: Bool
    /// True if the log was replaced, so everything must be written.
    public var replacesEverything: Bool
    /// The number of due side effects, oldest first, that have been marked as done.
    public var sideEffectsMarked = 0
    /// The number of side effects that have become due: the last ones of `head.sideEffectsDue`.
    public var sideEffectsAdded = 0

    /// The changes for a store that has nothing of the engine yet.
    package static let everything = SessionPersistence(
        appended: [], movesBase: true, changesMembership: true, replacesEverything: true)
}

/// An event whose place will never change.
public struct SessionConfirmedEvent<Event: Codable & Sendable>: Sendable {
    /// The index of the event among all confirmed entries of the group, from 0.
    public var position: UInt64
    /// The event with its metadata.
    public var envelope: SessionSyncEnvelope<Event>
    /// The effect of the event at its place, equal on every replica.
    public var outcome: SessionEventOutcome

    @inlinable
    init(position: UInt64, envelope: SessionSyncEnvelope<Event>, outcome: SessionEventOutcome) {
        self.position = position
        self.envelope = envelope
        self.outcome = outcome
    }
}

/// An event that the last call put in its place.
public struct SessionAppliedEvent<Event: Codable & Sendable>: Sendable {
    /// The event with its metadata.
    public var envelope: SessionSyncEnvelope<Event>
    /// The effect of the event at its current place. A late event that is inserted before it may change that.
    public var outcome: SessionEventOutcome
    /// The number of later events that were rolled back and replayed for this one; 0 if it came in order.
    public var replayedCount: Int

    @inlinable
    init(envelope: SessionSyncEnvelope<Event>, outcome: SessionEventOutcome, replayedCount: Int) {
        self.envelope = envelope
        self.outcome = outcome
        self.replayedCount = replayedCount
    }
}

/// The effect of an event at its place in the order.
public enum SessionEventOutcome: UInt8, Hashable, Sendable, Codable {
    /// The reducer ran, and the state includes its result.
    case applied
    /// The policy or the reducer rejected the event.
    case rejected
    /// An earlier event has the same explicit ID.
    case repeated
    /// This version can't read the event, which stays in the log without effect.
    case unread
}

/// A message for the caller to send.
public enum SessionOutgoing<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// A control to one peer, or to every peer if `to` is nil.
    case control(SessionSyncEnvelope<SessionControl>, to: String?)
    /// Own events that the peer lacks.
    case events([SessionSyncEnvelope<Event>], to: String)
    /// Events of others that the peer lacks and has requested.
    case relay(SessionSyncEnvelope<SessionRelay<Event>>, to: String)
    /// A checkpoint to send in the `checkpoint` of a snapshot with this metadata.
    case checkpoint(SessionCheckpoint<State, Event>, SessionSyncMetadata, to: String)
}

/// A fault that the engine has noticed.
public enum SessionAlarm: Hashable, Sendable {
    /// Two events have the same source and sequence, or peers hold events of this source that its store hasn't written.
    /// If it is the local source, continue as another incarnation: `reincarnated(as:)`.
    case forked(SourceSequence)
    /// An event was refused: its source had promised to write nothing more at or below its stamp.
    case promiseBroken(SourceSequence)
    /// Two members have confirmed different prefixes of this length.
    case diverged(position: UInt64)
    /// Another member has another state after the same `position` confirmed events: one of the two reduces or decodes
    /// differently. The engine repairs nothing. Raised once for each member, until its state agrees again.
    case stateDiverged(position: UInt64)
    /// A type loses this field when it is encoded and decoded. Raised in debug builds, once for each type and field.
    case codingLoss(type: String, field: String)
    /// An unsealed log was full, so its oldest events were folded and can't be reordered any more.
    case foldedUnconfirmed(count: Int)
    /// An event was refused because its stamp is out of range.
    case unusableStamp(SourceSequence)
    /// A message was refused because a number or a moment in it is out of range. Raised by the session, once for each
    /// peer; the engine throws `SessionSyncError.outOfRange`.
    case outOfRange(peerID: String, field: String)
    /// A source's stamps are that far ahead of the local wall clock, so one of the two clocks is wrong. Its events
    /// count, and local events continue after them. Raised once for each source.
    case clockFarAhead(SessionSource, milliseconds: UInt64)
    /// The reducer gave two results for that event. It reads a clock, generates random numbers or IDs, or depends on
    /// the order of a set. Use the context instead: `uuid()`, `randomNumberGenerator` and the event's moment,
    /// `metadata.causalTimestamp`.
    case nondeterministicReducer(eventSequence: SourceSequence)
    /// A peer wants to join, but no member has invited it and it is no member's successor, or the group has 16 members.
    case notAdmitted(SessionSource)
    /// The others continue without this member. `forked` for the local source follows; see `reincarnated(as:)`.
    case fenced(view: UInt64)
    /// These members' versions know no views. Until they are updated, no device joins and none is removed.
    case cannotChangeView([SessionSource])
}

/// The result of receiving an envelope. An associated state is the one after the call.
public enum SessionSyncReceiveResult<State: Sendable>: Sendable {
    /// The event, and others that had waited for it, are in place.
    case applied(State)
    /// The event was held already, or an earlier event has its explicit ID. The state is unchanged.
    case duplicate(State)
    /// The event has no effect: the policy or the reducer rejected it, this version can't read it, or the engine
    /// refused it.
    case ignored(State)
    /// Earlier events of the same source are missing, so the event waits in a bounded buffer. The state is unchanged.
    case snapshotRequired(expectedSequence: UInt64, receivedSequence: UInt64)
}

extension SessionSyncReceiveResult: Equatable where State: Equatable {}

/// The result of receiving a snapshot.
public enum SessionSyncSnapshotResult<State: Sendable>: Sendable {
    /// The snapshot was new, and the state includes it.
    case applied(State)
    /// The snapshot has nothing new. Nothing changed.
    case staleIgnored(state: State, currentRevision: UInt64)
}

extension SessionSyncSnapshotResult: Equatable where State: Equatable {}

/// A summary of an engine's contents: the state, and the last sequence from each peer.
public struct SessionSyncStore<State: Codable & Sendable>: Sendable {
    /// The state after all events that the engine holds.
    public let state: State
    /// The sequence of the next local event; 1 before the first.
    public let nextLocalSequence: UInt64
    /// The metadata of the last event in the order that had an effect.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The highest snapshot revision sent or applied.
    public let snapshotRevision: UInt64
    /// The last sequence held of each peer, including the local one. The key is the peer's ID, or `peerID/incarnation`
    /// for an earlier incarnation.
    public let lastSequenceByPeerID: [String: UInt64]

    init(
        state: State, nextLocalSequence: UInt64, lastAppliedMetadata: SessionSyncMetadata?, snapshotRevision: UInt64,
        vector: [String: UInt64]
    ) {
        self.state = state
        self.nextLocalSequence = nextLocalSequence
        self.lastAppliedMetadata = lastAppliedMetadata
        self.snapshotRevision = snapshotRevision
        lastSequenceByPeerID = vector
    }

    /// Maximum number of sources in one session, with earlier incarnations of peers but without the local source.
    static var sourcesMax: Int { 1024 }
}
