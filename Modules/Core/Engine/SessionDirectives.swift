public import MeshIdentity

/// The work that the caller has to do after a batch of calls, in the order of the fields.
///
/// 1. `persist`: write it, or the whole `engine.image`. When that fails, do none of the rest; the engine in memory is
///    ahead of the store then and has to be restored from it.
/// 2. `confirmed`: run their side effects, then `markSideEffects(through:)`.
/// 3. `outgoing`, and envelopes that `submitLocal` returned: send. Sending before writing breaks promises after a crash.
/// 4. `alarms`: show or record them.
public struct SessionDirectives<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// nil when nothing changed that outlives the process.
    public var persist: SessionPersistence?
    /// The newly confirmed events in their final order, each once. At most `SessionEngineOptions.confirmedMax`; more
    /// wait in the engine.
    public var confirmed: [SessionConfirmedEvent<Event>]
    /// At most one message of each kind for each peer.
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

    /// Whether there is nothing to do.
    public var isEmpty: Bool { persist == nil && confirmed.isEmpty && outgoing.isEmpty && alarms.isEmpty }
}

/// The changes since the last call, for a store that doesn't write the whole image.
public struct SessionPersistence: Hashable, Sendable {
    /// Entries that are new in the log; `engine.records(in:)` has them.
    public var appended: [SessionRange]
    /// The base, and with it the beginning of the log, has moved.
    public var movesBase: Bool
    /// Members, promises, acknowledgements, cut or clock lease have changed; they are small.
    public var changesMembership: Bool
    /// The log is another one: everything has to be written.
    public var replacesEverything: Bool
    /// So many of the oldest side effects that were due have been marked as done.
    public var sideEffectsMarked = 0
    /// So many have become due: the last ones of `head.sideEffectsDue`.
    public var sideEffectsAdded = 0

    /// What a store gets that knows nothing of the engine.
    package static let everything = SessionPersistence(
        appended: [], movesBase: true, changesMembership: true, replacesEverything: true)
}

/// An event whose place will never change.
public struct SessionConfirmedEvent<Event: Codable & Sendable>: Sendable {
    /// Counts all confirmed entries of the group from 0.
    public var position: UInt64
    /// The event and who did it.
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
    /// The event and who did it.
    public var envelope: SessionSyncEnvelope<Event>
    /// The effect of the event at its place for now: an event that arrives late before it may change that.
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
    /// The reducer ran, and the state is what it made.
    case applied
    /// Rejected by the policy or the reducer.
    case rejected
    /// Its explicit id had an effect before.
    case repeated
    /// The event isn't readable by this version. It is kept, without effect.
    case unread
}

/// A message that the caller is to send.
public enum SessionOutgoing<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// nil is every peer.
    case control(SessionSyncEnvelope<SessionControl>, to: String?)
    /// Own events that the peer lacks.
    case events([SessionSyncEnvelope<Event>], to: String)
    /// Events of others that the peer lacks and has asked for.
    case relay(SessionSyncEnvelope<SessionRelay<Event>>, to: String)
    /// A checkpoint that belongs into the `checkpoint` of a snapshot with this metadata.
    case checkpoint(SessionCheckpoint<State, Event>, SessionSyncMetadata, to: String)
}

/// Something that ought not to happen.
public enum SessionAlarm: Hashable, Sendable {
    /// Two events of one source and sequence, or events of this source that this store has not written. When it is the
    /// local source, the engine has to go on as another incarnation: `reincarnated(as:)`.
    case forked(SourceSequence)
    /// An event at or below a stamp that its source had promised to be past; it was refused.
    case promiseBroken(SourceSequence)
    /// Two members confirmed different prefixes of this length.
    case diverged(position: UInt64)
    /// Another member has another state after the same `position` confirmed events: one of the two reduces or decodes
    /// differently. Nothing is mended. Raised once for each member, until its state agrees again.
    case stateDiverged(position: UInt64)
    /// A type loses this field when it is encoded and decoded. Raised in debug builds, once for each type and field.
    case codingLoss(type: String, field: String)
    /// An unsealed log was full; its oldest half can no longer be re-ordered.
    case foldedUnconfirmed(count: Int)
    /// A stamp that no clock shows; the event was refused.
    case unusableStamp(SourceSequence)
    /// A peer stated a number or a moment outside the possible range; its message was refused. Raised by the session,
    /// once for each peer: the engine throws `SessionSyncError.outOfRange`.
    case outOfRange(peerID: String, field: String)
    /// A source's stamps are that far ahead of the local wall clock: one of the two clocks is wrong. Its events count, and
    /// what is written here goes on after them. Told once for each source.
    case clockFarAhead(SessionSource, milliseconds: UInt64)
    /// The reducer gave two results for that event: it reads a clock, draws random numbers or ids, or depends on the order
    /// of a set. What it may use instead is in its context: `uuid()`, `randomNumberGenerator` and the event's moment,
    /// `metadata.causalTimestamp`.
    case nondeterministicReducer(eventSequence: SourceSequence)
    /// A peer that is neither a member nor follows one wants to join. No member has invited it, or the group has 16
    /// members.
    case notAdmitted(SessionSource)
    /// The others go on without this member: `forked` of the local source follows, and as another incarnation it joins again.
    case fenced(view: UInt64)
    /// Members whose version knows no views: until they are updated, no device joins and none is removed.
    case cannotChangeView([SessionSource])
}

/// The result of receiving an envelope. Each case carries the state afterwards.
public enum SessionSyncReceiveResult<State: Sendable>: Sendable {
    /// The event, and whatever had waited for it, is in its place.
    case applied(State)
    /// The event was held already; nothing changed.
    case duplicate(State)
    /// The policy or the reducer rejected the event; its sequence is recorded, the state unchanged.
    case ignored(State)
    /// Earlier events of the same source are missing; nothing changed.
    case snapshotRequired(expectedSequence: UInt64, receivedSequence: UInt64)
}

extension SessionSyncReceiveResult: Equatable where State: Equatable {}

/// The result of receiving a snapshot.
public enum SessionSyncSnapshotResult<State: Sendable>: Sendable {
    /// The snapshot told something new, and the state includes it.
    case applied(State)
    /// The snapshot says nothing that is not known here; nothing changed.
    case staleIgnored(state: State, currentRevision: UInt64)
}

extension SessionSyncSnapshotResult: Equatable where State: Equatable {}

/// The contents of an engine in the reference's terms: the state, and the last sequence from each peer.
public struct SessionSyncStore<State: Codable & Sendable>: Sendable {
    /// The state after all events that the engine holds.
    public let state: State
    /// The sequence of the next local event; 1 before the first.
    public let nextLocalSequence: UInt64
    /// The last event in the order that had an effect.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The highest snapshot revision sent or applied.
    public let snapshotRevision: UInt64
    /// The last sequence held of each peer, the local one included. The key is the peer's id; an earlier incarnation of
    /// a peer is `peerID/incarnation`.
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

    /// How many sources, peers and their earlier incarnations, one session knows at most, beside the local one.
    static var sourcesMax: Int { 1024 }
}
