import MeshBase
public import MeshFoundation
public import MeshIdentity

/// One feature's session as a value: events go in, the state and what to send come out.
///
/// Every peer runs the same engine over the same reducer, and all reach the same state, whatever order events arrive in:
/// events have one total order, and one that comes late is inserted at its place. The engine does no I/O and has no clock
/// and no randomness; the caller passes times, an incarnation and a seed.
///
/// ```
/// submitLocal, receive, receiveControl, adopt, tick      events and messages go in
/// gather                                                 events that came together
/// takeApplied()                                          what the last call put in its place
/// takeDirectives()                                       once a batch: persist, confirm, then send
/// ```
///
/// **An envelope is sent only after what the directives ask to persist has been written.** That is what "accepted" means,
/// and promises and acknowledgements rely on it.
///
/// A caller that uses only `submitLocal`, `receive`, `applySnapshot` and `store` is served as before: such an engine
/// stays unsealed, takes any source on sight and confirms nothing. Docs/Internals/Convergence.md has the rules.
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
    /// The random 32 bits that identify the peer's store, drawn when the store was created. 0 for an engine without a
    /// store.
    public let incarnation: UInt32
    /// What this store had written when it was opened. One that was created in this process is no older copy of itself:
    /// all its names are its own.
    var launchSequence: UInt64 = .max
    /// Bounds and hooks, as they were given.
    public let options: SessionEngineOptions<State, Event>

    // What outlives the process, see `image`.
    @usableFromInline var sources: SourceTable
    @usableFromInline var log: EventLog<State, Event>
    /// What waits for earlier events, by slot; it is not held.
    @usableFromInline var gaps: [Int: GapBuffer<Event>] = [:]
    @usableFromInline var clock = HybridLogicalClock()
    /// The persisted bound of all promises made.
    @usableFromInline var clockLease = HybridTimestamp.zero
    @usableFromInline var groupName: SessionSource?
    /// The group's name in metadata; a view's is that many further.
    var groupTag: UInt32 = 0
    /// The view's name in metadata: what counts here says it.
    @usableFromInline var epochTag: UInt32 = 0
    /// Where this member stands between views.
    var stance = ViewStatement() {
        didSet {
            let stamp = stance.change?.frozen.stamp
            frozenAt = stamp?.rawValue ?? .max
        }
    }
    /// Up to where it may promise, which is everywhere but on the way to another view. Beside it, because looking into that costs.
    @usableFromInline var frozenAt = UInt64.max
    @usableFromInline var sealed = false
    @usableFromInline var ended = false
    /// Below it the order of what is held will not change.
    @usableFromInline var cutStamp = HybridTimestamp.zero
    /// How many entries of the log are confirmed.
    @usableFromInline var settledCount = 0
    /// How many of those the caller has been told; the rest is confirmed again after a crash.
    @usableFromInline var announcedCount = 0
    @usableFromInline var confirmationChain = ConfirmationChain()
    @usableFromInline var due = DueEffects<Event>()
    @usableFromInline var snapshotRevision: UInt64 = 0

    /// The names under which events were issued again.
    var reissues = ReissueTable()

    // What does not.
    /// An open member has forked and has not been replaced yet.
    @usableFromInline var hasForkedMember = false
    @usableFromInline let interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>
    @usableFromInline var applied: [AppliedEntry<Event>] = []
    /// The last call put one more entry in its place, which is the last one of the log.
    @usableFromInline var isLastApplied = false
    /// For what the sampled looks at the reducer cost; see `checkReducer`.
    var samplingCredit = 0
    var isToldNondeterministic = false
    var comparison = StateComparison()
    /// `gather` is under way, and what it has let wait.
    @usableFromInline var isGathering = false
    @usableFromInline var gathered: [LogEntry<Event>] = []
    @usableFromInline var ownUnconfirmed = 0
    @usableFromInline var ownUnconfirmedBytes = 0
    @usableFromInline var provisional: ProvisionalView<State, Event>? {
        didSet { isProvisionalShown = provisional != nil }
    }
    /// What the base includes without its events, because it was a peer's snapshot.
    var taken: SnapshotBase?
    /// The last snapshot that carried the shown state of that moment.
    var lastCarrier: SnapshotCarrier?
    /// What the shown state's author has said of its lives.
    var peersLivesTag: LivesTag?
    /// The caller has been given what it is to persist.
    var isKept = false
    /// Own events of a life without a store, up to this sequence: they are known from a peer's state only.
    var skipped: UInt64 = 0
    /// Beside it, because looking into it copies it.
    @usableFromInline var isProvisionalShown = false
    var snapshotSourcePeerID: String
    @usableFromInline var pending = PendingDirectives()
    var random: SplitMix64
    var wishes = CompanyWishes()
    /// The group that went on without this source, and that it joins again.
    var home: SessionSource?
    /// Exchanges since a member of it was heard.
    var homeSilence = 0.0
    /// Exchanges for which this member has waited for that group, also while it is heard.
    var homeWait = 0.0
    /// The caller uses nothing but the reference's calls.
    @usableFromInline var isReferenceOnly = true
    /// The time of the last call that had one.
    @usableFromInline var wallMilliseconds: UInt64 = 0
    /// The first `tick` of this launch.
    @usableFromInline var beganAt: Date?
    /// The latest `tick`.
    var tickedAt: Date?
    /// Milliseconds until the next `tick` at the latest; nil of a caller that states none.
    var announcedSilence: UInt64?

    /// Creates an engine in the initial state, with an empty log.
    ///
    /// - Parameters:
    ///   - incarnation: 32 random bits drawn when this peer's store was created, kept with it. nil is for an engine
    ///     without a store: it is drawn here, so that peers tell its lives apart, unless `members` names it.
    ///   - seed: random, another one for each launch; tokens that prove liveness are drawn from it.
    ///   - members: sources that were paired beforehand, the local one among them: the group is sealed from the start.
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

    /// The contents of this engine in the reference's terms.
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

    /// Every call that takes something from a peer begins here. Mutating so that it looks into the engine where it lies:
    /// a copy is a kilobyte and more.
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
    /// Own events that are not confirmed. Beyond it `submitLocal` throws `SessionSyncError.logFull`, or, in an engine
    /// that never ticked, the oldest half of the log is folded.
    public var ownUnconfirmedMax = 4096
    /// Maximum number of bytes of own unconfirmed events: the entries of the log, with events as `eventBytes` counts
    /// them.
    public var ownUnconfirmedBytesMax = 8 << 20
    /// Checkpoints of the state, from which late events are reduced again: as many as this holds by the state's encoded size,
    /// 4 at least and 32 at most. A session knows the size; an engine alone knows no codec and keeps 32.
    let checkpointBytesMax = 8 << 20
    /// Events of one source that wait for earlier ones; what is beyond is dropped and asked for again.
    package var gapMax = 256
    /// Events in one answer to a range request.
    package let rangeMax = 256
    /// Confirmed events that wait to be taken, or marked; beyond it confirmation waits.
    @usableFromInline package var confirmedMax = 4096
    /// How far ahead the clock is persisted, so that an idle promise costs no write.
    let clockLeaseMilliseconds: UInt64 = 500
    /// Milliseconds between two controls of a member that has something to say, and between two while it misses something:
    /// an engine waits, and decides, by these. A simulator has faster peers.
    package var exchangeMilliseconds: UInt64 = 1_000
    package var stepMilliseconds: UInt64 = 250
    /// A source whose stamps are further ahead of the wall clock is told of: a day.
    @usableFromInline let clockAheadMilliseconds: UInt64 = 86_400_000
    /// Keep confirmed events in the image until `markSideEffects(through:)`, so that a crash runs them again.
    public var keepsSideEffects = false
    /// Whether it founds a group with the first peer that it meets. One that does not waits to be taken into a group that
    /// exists: what a device does that joins a session, of several that may do so at once.
    public var founds = true
    /// Reduce every event twice and compare by `stateDigest`: finds reducers that are not deterministic. Slow.
    public var reducesTwice = false
    /// Whether the engine now and then, and for small states always, applies an event twice to find a reducer that
    /// isn't deterministic. Stops at the first find. On in debug builds.
    public var samplesReducer = isDebugBuild
    /// The size of an event for the log's bound. Asked once for each own event; nil counts the fixed size, as an engine
    /// knows no codec. `SyncedSession` counts the encoded size then.
    @usableFromInline package var eventBytes: (@Sendable (Event) -> Int)?
    /// The same, of events that the caller of `submitLocal` does not weigh itself.
    @usableFromInline package var encodedBytes: (@Sendable (Event) -> Int)?
    /// The size of a state, for `checkpointBytesMax`.
    package var encodedStateBytes: (@Sendable (State) -> Int)?
    /// A digest of an event for the chain of confirmed events, equal on every replica; nil leaves the payload out of
    /// it.
    public var eventDigest: (@Sendable (Event) -> UInt64)?
    /// Compares two states where the reducer is checked (`reducesTwice`, `samplesReducer`); nil compares their JSON.
    public var stateDigest: (@Sendable (State) -> UInt64)?
    /// Reads an event of another payload version than this one; nil leaves it opaque.
    public var upcast: (@Sendable (SessionSyncMetadata, [UInt8], _ codec: UInt8) -> Event?)?

    @inlinable var checksReducer: Bool { reducesTwice || samplesReducer }

    /// Events that `takeDirectives` hands over as confirmed at once.
    @usableFromInline package var confirmedAtOnce = Int.max
    /// After `gather` the caller goes on with `catchUp`, bit by bit, and until then `state` does not tell of what came.
    @usableFromInline package var catchesUpLater = false

    /// The defaults: what each field says.
    public init() {}

    private static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}
