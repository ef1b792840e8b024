import MeshBase
public import MeshFoundation
public import MeshIdentity

// Terms in this folder. Docs/Internals/Convergence.md has the rules.
// - Source: one store of one peer, named by peer ID and incarnation. It numbers its events from 1 without gaps.
// - Stamp: a hybrid logical clock (`HybridTimestamp`). The order of events is stamp, then source, then sequence.
// - Held: the part of a source's sequence that is here without a gap. Promise (n, h): after sequence n, the source
//   writes nothing at or below stamp h.
// - Cut: the lowest of the members' promises that count. Confirmed: the prefix of the order below it that all have
//   acknowledged.
// - Base: the state at a checkpoint in the confirmed prefix, whose events are folded into it and freed.
// - Group: members that confirm together. View: its current members, numbered (`SessionSyncEngine+Views`).
// - Sealed: belongs to its group for good. Copy: the base and log that a joining device adopts.
// - The reference's calls: `submitLocal`, `receive`, `applySnapshot` and `store`, without controls, ticks or
//   directives.

/// One feature's session as a value: events go in; the state and messages to send come out.
///
/// Every peer runs the same engine over the same reducer. All reach the same state, in whatever order events arrive,
/// because events have one total order and a late event is inserted at its place. The engine does no I/O and has no
/// clock. You pass times, an incarnation and a seed; only a missing incarnation is generated.
///
/// ```
/// submitLocal, receive, receiveControl, adopt, tick      events and messages go in
/// gather                                                 events that came together
/// takeApplied()                                          the events that the last call put in place
/// takeDirectives()                                       once a batch: persist, confirm, then send
/// ```
///
/// **Send an envelope only after you have written what the directives ask to persist.** An event counts as accepted
/// only then, and promises and acknowledgements rely on it.
///
/// If you use only `submitLocal`, `receive`, `applySnapshot` and `store`, the engine stays unsealed, takes any source
/// on sight and confirms nothing. Docs/Internals/Convergence.md has the rules.
public struct SessionSyncEngine<State, Event, Reducer, ConflictPolicy>: Sendable
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    /// The ID of the session. A message with another ID is refused with `SessionSyncError.sessionMismatch`.
    public let sessionID: UUID
    /// The ID of the feature. A message with another ID is refused with `SessionSyncError.featureMismatch`.
    public let featureID: String
    /// The `SessionPeer.id` under which local events are submitted.
    public let localPeerID: String
    /// The type of the events' payloads.
    public let payloadType: String
    /// The type of the snapshots' payloads.
    public let snapshotPayloadType: String
    /// 32 random bits that identify the peer's store, generated with it. An engine without a store generates its own.
    public let incarnation: UInt32
    /// The last own sequence when the store was opened. `.max` for a new store, whose names can't mean other events.
    var launchSequence: UInt64 = .max
    /// Bounds and hooks, as you passed them.
    public let options: SessionEngineOptions<State, Event>

    // These are persisted; see `image`.
    @usableFromInline var sources: SourceTable
    @usableFromInline var log: EventLog<State, Event>
    /// Events that wait for earlier ones, by slot. They aren't held.
    @usableFromInline var gaps: [Int: GapBuffer<Event>] = [:]
    @usableFromInline var clock = HybridLogicalClock()
    /// The persisted upper bound of all promises sent without an event.
    @usableFromInline var clockLease = HybridTimestamp.zero
    @usableFromInline var groupName: SessionSource?
    /// The group's tag in metadata. The tag of its view n is this plus n.
    var groupTag: UInt32 = 0
    /// The tag in metadata of this engine's view.
    @usableFromInline var epochTag: UInt32 = 0
    /// This member's position between views.
    var stance = ViewStatement() {
        didSet {
            let stamp = stance.change?.frozen.stamp
            frozenAt = stamp?.rawValue ?? .max
        }
    }
    /// The highest stamp that this member may promise: `.max` unless a view is being decided. Cached: `stance` is slow.
    @usableFromInline var frozenAt = UInt64.max
    @usableFromInline var sealed = false
    @usableFromInline var ended = false
    /// The stamp at or below which the order of held events is final.
    @usableFromInline var cutStamp = HybridTimestamp.zero
    /// The number of confirmed entries at the beginning of the log.
    @usableFromInline var settledCount = 0
    /// The number of confirmed entries that the caller has been given. After a crash, the others are confirmed again.
    @usableFromInline var announcedCount = 0
    @usableFromInline var confirmationChain = ConfirmationChain()
    @usableFromInline var due = DueEffects<Event>()
    @usableFromInline var snapshotRevision: UInt64 = 0

    /// The names under which events were issued again.
    var reissues = ReissueTable()

    // These aren't persisted.
    /// True while an open member has forked and hasn't been replaced.
    @usableFromInline var hasForkedMember = false
    @usableFromInline let interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>
    @usableFromInline var applied: [AppliedEntry<Event>] = []
    /// True if the last entry of the log was put in place by the last call and isn't in `applied` yet.
    @usableFromInline var isLastApplied = false
    /// The budget for checks of the reducer; see `checkReducer`.
    var samplingCredit = 0
    var hasRaisedNondeterministic = false
    var comparison = StateComparison()
    /// True during `gather`, which collects late entries in `gathered` and places them at its end.
    @usableFromInline var isGathering = false
    @usableFromInline var gathered: [LogEntry<Event>] = []
    @usableFromInline var ownUnconfirmed = 0
    @usableFromInline var ownUnconfirmedBytes = 0
    @usableFromInline var provisional: ProvisionalView<State, Event>? {
        didSet { isProvisionalShown = provisional != nil }
    }
    /// The part of the base that is known only from a peer's snapshot.
    var snapshotBase: SnapshotBase?
    /// The last snapshot that was sent or applied here. It carries the shown state until an event changes that.
    var lastCarrier: SnapshotCarrier?
    /// The incarnation tag in the snapshot that brought the shown state.
    var peerIncarnationTag: IncarnationTag?
    /// True once the caller has been asked to persist anything.
    var hasPersisted = false
    /// In an engine with incarnation 0: the last own sequence that only a peer's state includes.
    var skipped: UInt64 = 0
    /// Cached, because reading `provisional` copies it.
    @usableFromInline var isProvisionalShown = false
    var snapshotSourcePeerID: String
    @usableFromInline var pending = PendingDirectives()
    var random: SplitMix64
    var membershipIntent = MembershipIntent()
    /// The group that continued without this source, and that this source wants to join again.
    var groupToRejoin: SessionSource?
    /// Number of exchanges since a member of `groupToRejoin` was heard.
    var rejoinSilence = 0.0
    /// Number of exchanges for which this engine has waited for `groupToRejoin`, whether it was heard or not.
    var rejoinWait = 0.0
    /// True while the caller uses only the reference's calls.
    @usableFromInline var isReferenceOnly = true
    /// The wall clock of the latest call that passed a time, in milliseconds since 1970.
    @usableFromInline var wallMilliseconds: UInt64 = 0
    /// The time of the first `tick` of this launch.
    @usableFromInline var beganAt: Date?
    /// The time of the latest `tick`.
    var tickedAt: Date?
    /// Maximum number of milliseconds until the next `tick`; nil if the caller doesn't state it.
    var announcedSilence: UInt64?

    /// Creates an engine in the initial state, with an empty log.
    ///
    /// - Parameters:
    ///   - incarnation: 32 random bits, generated with this peer's store and kept with it. nil is for an engine without
    ///     a store. It is then taken from `members`, or generated, so that peers can distinguish its launches.
    ///   - seed: random, different for each launch. Liveness tokens are generated from it.
    ///   - members: sources that were paired beforehand, including the local one. The group is then sealed from the
    ///     start.
    public init(
        sessionID: UUID, featureID: String, localPeerID: String, payloadType: String, snapshotPayloadType: String,
        initialState: State, reducer: Reducer, conflictPolicy: ConflictPolicy, incarnation: UInt32? = nil,
        seed: UInt64 = 0, members: [SessionSource] = [], options: SessionEngineOptions<State, Event> = .init()
    ) {
        self.sessionID = sessionID
        self.featureID = featureID
        self.localPeerID = localPeerID
        self.payloadType = payloadType
        self.snapshotPayloadType = snapshotPayloadType
        let incarnation =
            incarnation ?? members.first { $0.peerID == localPeerID }?.incarnation ?? .random(in: 1 ... .max)
        self.incarnation = incarnation
        self.options = options
        interpreter = EventInterpreter(
            sessionID: sessionID, featureID: featureID, payloadType: payloadType, reducer: reducer,
            conflictPolicy: conflictPolicy)
        sources = SourceTable(local: SessionSource(peerID: localPeerID, incarnation: incarnation))
        log = EventLog(base: ReducedState(state: initialState))
        snapshotSourcePeerID = localPeerID
        random = SplitMix64(seed: seed)
        if !members.isEmpty { pair(members) }
    }

    /// The feature's state as this peer sees it now.
    @inlinable public var state: State { isProvisionalShown || log.isBehind ? otherState : log.current.state }

    @usableFromInline var otherState: State { (provisional?.log ?? log).visible.state }

    /// A summary of this engine's contents: the state, and the last sequence from each peer.
    public var store: SessionSyncStore<State> {
        SessionSyncStore(
            state: state, nextLocalSequence: sources[0].held + 1,
            lastAppliedMetadata: lastAppliedMetadata,
            snapshotRevision: snapshotRevision, vector: visibleVector)
    }

    private var lastAppliedMetadata: SessionSyncMetadata? {
        let log = provisional?.log ?? log
        return log.metadata(ofLastAppliedIn: log.visible, by: interpreter, sources: sources)
    }

    /// Checks a peer's message before anything in it is used. Mutating, so that the engine, which is larger than a
    /// kilobyte, isn't copied.
    @inlinable
    mutating func check(_ metadata: SessionSyncMetadata, payloadType: String) throws {
        if metadata.protocolVersion == SessionSyncProtocol.currentVersion, metadata.sessionID == sessionID,
            metadata.featureID == featureID, metadata.payloadType == payloadType,
            metadata.isInRange
        {
            return
        }
        try refuse(metadata, payloadType: payloadType)
    }

    @usableFromInline
    func refuse(_ metadata: SessionSyncMetadata, payloadType: String) throws {
        guard metadata.sessionID == sessionID else { throw SessionSyncError.sessionMismatch }
        guard metadata.featureID == featureID else { throw SessionSyncError.featureMismatch }
        guard metadata.payloadType == payloadType else { throw SessionSyncError.payloadTypeMismatch }
        guard (1...SessionSyncProtocol.currentVersion).contains(metadata.protocolVersion) else {
            throw SessionSyncError.unsupportedProtocolVersion(
                received: metadata.protocolVersion, supported: SessionSyncProtocol.currentVersion)
        }
        guard metadata.isInRange else { throw SessionSyncError.outOfRange(field: "metadata") }
    }
}

/// Bounds and hooks of an engine.
public struct SessionEngineOptions<State: Sendable, Event: Sendable>: Sendable {
    /// Maximum number of own unconfirmed events. Beyond it `submitLocal` throws `SessionSyncError.logFull`. An unsealed
    /// engine driven only by the reference's calls folds its log instead.
    public var ownUnconfirmedMax = 4096
    /// Maximum number of bytes of own unconfirmed events: the entries of the log, plus each event's size by
    /// `eventBytes`.
    public var ownUnconfirmedBytesMax = 8 << 20
    /// Maximum number of bytes of all checkpoints, by the state's encoded size. There are at least 4 and at most 32.
    /// Without `encodedStateBytes` there are 32.
    let checkpointBytesMax = 8 << 20
    /// Maximum number of events of one source that wait for earlier ones. Others are dropped and requested again.
    package var gapMax = 256
    /// Maximum number of events in one answer to a range request.
    package let rangeMax = 256
    /// Maximum number of confirmed events that wait to be taken or marked. Beyond it confirmation waits.
    @usableFromInline package var confirmedMax = 4096
    /// Milliseconds by which a new persisted clock bound is ahead of the promise, so that idle promises cost no writes.
    let clockLeaseMilliseconds: UInt64 = 500
    /// Milliseconds between two controls of a member that has news; `stepMilliseconds` while it misses events. The
    /// engine's waiting times count in these intervals. Simulators shorten them.
    package var exchangeMilliseconds: UInt64 = 1_000
    package var stepMilliseconds: UInt64 = 250
    /// Milliseconds that a source's stamps may be ahead of the wall clock before an alarm: one day.
    @usableFromInline let clockAheadMilliseconds: UInt64 = 86_400_000
    /// True to keep confirmed events in the image until `markSideEffects(through:)`, so that effects rerun after a
    /// crash.
    public var keepsSideEffects = false
    /// True if the engine founds a group with the first peer that it meets. Otherwise it waits to be admitted to an
    /// existing group, as a device does that joins a session.
    public var founds = true
    /// True to reduce each event, and up to 31 before it, a second time, to find a reducer that isn't deterministic.
    /// Slow.
    public var reducesTwice = false
    /// True to check like `reducesTwice`, but less often the larger the state is, and to raise only one alarm. On in
    /// debug builds.
    public var samplesReducer = isDebugBuild
    /// Returns the size of an event for the log's bound. Called once for each own event. If nil, only the entry's fixed
    /// size counts, and `SyncedSession` adds the encoded size.
    @usableFromInline package var eventBytes: (@Sendable (Event) -> Int)?
    /// Returns the encoded size of events that the caller of `submitLocal` hasn't measured.
    @usableFromInline package var encodedBytes: (@Sendable (Event) -> Int)?
    /// Returns the encoded size of a state, for `checkpointBytesMax`.
    package var encodedStateBytes: (@Sendable (State) -> Int)?
    /// Returns a digest of an event for the chain of confirmed events, equal on every replica. If nil, the chain
    /// doesn't cover payloads.
    public var eventDigest: (@Sendable (Event) -> UInt64)?
    /// Returns a digest of a state, for checks of the reducer (`reducesTwice`, `samplesReducer`). If nil, JSON is
    /// compared.
    public var stateDigest: (@Sendable (State) -> UInt64)?
    /// Reads an event of another payload version. If nil, or without a result, the event stays opaque.
    public var upcast: (@Sendable (SessionSyncMetadata, [UInt8], _ codec: UInt8) -> Event?)?

    @inlinable var checksReducer: Bool { reducesTwice || samplesReducer }

    /// Maximum number of confirmed events that one call of `takeDirectives` returns.
    @usableFromInline package var confirmedAtOnce = Int.max
    /// True if the caller continues with `catchUp(atMost:)`, in slices, after `gather`. Until then `state` doesn't include
    /// the gathered events. So many batches of late events cost one pass over the log, and not one each. Such an engine
    /// doesn't make a peer's snapshot its base; see Docs/Internals/Convergence.md.
    public var catchesUpLater = false

    /// Creates the default options, as each property states them.
    public init() {}

    private static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}
