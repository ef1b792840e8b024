import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshStorage
import MeshTransport
import MeshWire

// Terms of this folder:
//
// - turn: one change of the core, with its time. It leaves directives, which the driver (`SyncedSession`) carries out.
// - round: the work of several turns, which is written and then sent (`SessionCore+Rounds`).
// - control: the engine's periodic message. It says what the engine holds, and asks for what it lacks.
// - exchange: sending a control. `SessionCore+Exchange` decides when.
// - behind: late events have their places, but the state doesn't show them until `catchUp` has reduced them.
// - copy: a complete session for a newcomer (`CopyTraffic`).
//
// Docs/Internals/Convergence.md has the engine's terms and rules.

/// A session as a value. Calls of the app, messages and timers go in, each with its time. Values to show, batches to
/// write, messages to send and delays come out. It owns the engine, but has no task, clock or transport.
/// `SyncedSession` has those and drives it, and a test can do so too.
struct SessionCore<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    typealias Engine = SessionSyncEngine<State, Event, Reducer, ConflictPolicy>

    /// The time of a turn, and the peers that the transport knows then.
    struct Moment {
        var now: Date
        var knownPeers: [SessionPeer] = []
    }

    /// The work that a turn leaves to its driver.
    struct Directives {
        var showsState = false
        var showsStatus = false
        var showsCopy = false
        var showsDeliveries = false
        var showsEphemerals = false
        var showsSeries = false
        /// News to publish, in order.
        var remoteEvents: [SessionSyncEnvelope<Event>] = []
        var remoteSnapshots: [SessionSyncSnapshot<State>] = []
        var confirmed: [SessionConfirmedEvent<Event>] = []
        var alarms: [SessionAlarm] = []
        /// All of this news merged into one order.
        var updates: [SessionUpdate<State, Event>] = []
        var ephemerals: [EphemeralLane<[UInt8]>.Sample] = []
        /// True if `takeRound` may have work.
        var hasRound = false
        var runsEffects = false
        /// Parts of series that peers have requested, to be read and sent.
        var servings: [SeriesResponse] = []
        /// A complete copy, to be read and passed to `adopt`.
        var arrivedCopy: ArrivingCopy?
        /// Delay before `catchUp` is called, and then repeatedly until the engine is no longer behind.
        var catchUpIn: Duration?
        /// A state that needs a digest, which is passed to `finishDigest`.
        var milestone: SessionMilestone<State>?
        /// Delays before `exchangeNow` and `sendPendingRequest`. Each replaces an earlier timer; nil leaves that alone.
        var exchangeIn: Duration?
        var requestIn: Duration?
        /// Delays before `sendEphemerals`, `publishPendingState` and `reportDueSeries`.
        var ephemeralsIn: Duration?
        var stateIn: Duration?
        var seriesIn: Duration?
    }

    let configuration: SyncedSessionConfiguration<State, Event>
    let checkpoints: CheckpointCoding
    let hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    private let hasComparableStates = State.self is any Equatable.Type
    /// Returns true if the link says that a peer is the user's own device.
    let isOwn: @Sendable (String) -> Bool
    var engine: Engine
    /// The moment of the current turn, or of the last one.
    var moment: Moment
    var directives = Directives()
    private(set) var isRunning = false
    /// True once the session is closed for good.
    var isClosed = false
    var statistics = SessionStatistics()
    var deliveries = DeliveryLedger()

    // Work on its way to the store, the peers and the app.
    var archive: SessionArchive<State, Event>?
    var outgoing = OutgoingQueue()
    var unsaved = UnsavedWork<Event>()
    var effects = EffectQueue<Event>()
    var samples = SampleThinning()

    /// Remote events that have taken their places, published once the state shows them.
    var arrivals: [SessionSyncEnvelope<Event>] = []
    var updates = UpdateJournal<State, Event>()
    /// The time from which the state has lacked events that have arrived; nil if it lacks none.
    var behindSince: Date?

    // Facts about peers that the engine doesn't keep.
    var heard: [String: HeardPeer] = [:]
    /// Peers whose last control came from a device that isn't a member.
    var nonmemberPeerIDs: Set<String> = []
    var membershipLedger = MembershipLedger()
    /// Peers whose problem was reported: they run another session or feature.
    var elsewhere: Set<String> = []
    var shownPeerID: String?
    var reachablePeerIDs: Set<String> = []
    /// True once the transport has named a peer in a reachability change.
    var reportsReachability = false
    var retainedSnapshot: AnySessionSyncSnapshot?
    /// A retained snapshot that was refused as too old while no peer was reachable.
    var staleSnapshot: AnySessionSyncSnapshot?

    // Values of which only the newest counts, and the time of each peer's last message with such values.
    var ephemerals: EphemeralLane<[UInt8]>
    var ephemeralHeardAt: [String: Date] = [:]
    /// The last time that own values left, and the schedule of their repeats.
    var ephemeralsSentAt: Date?
    /// Seconds between the last two times.
    var ephemeralGap: TimeInterval?
    var ephemeralRepeats = EphemeralRepeats()

    // Samples, which have no place in the order of events.
    var series: SeriesReplica
    var seriesSchedule = SeriesSchedule()

    // Copies that are too large for one message: one for newcomers, one arriving.
    var offeredCopy: OfferedCopy?
    var arrivingCopy: ArrivingCopy?
    /// The copy that this session has adopted, published once the state shows it.
    var adoptedCopy: AdoptedCopy?
    /// Maximum number of bytes of a copy that the transport takes in one message.
    var pieceBytes = CopyPiece.bytesMax

    /// The time from which this device has listened without a pause. Earlier silence doesn't count as absence.
    var listeningSince: Date
    /// The moment from which this device's clock runs steadily. An earlier launch may have counted from another time.
    var steadySince: Date
    /// The member that owns the session's clock. `at` is the moment at which it became the owner, by the old or the new
    /// owner's clock, whichever shows the later time; nil for the first owner.
    var ownerChange: (owner: String, at: Date?)?
    var lastExchangeAt: Date
    /// The longest interval for which an exchange was scheduled since `lastExchangeAt`.
    var silenceMaximum = Duration.zero

    var comparisons = ComparisonSchedule()

    // The last requests and messages, with their times.
    var exchange = ExchangeSchedule()
    var lastRequestAt: Date?
    var isRequestPending = false
    /// The vector of the last state that was sent to all peers, and its time.
    var lastPublished: (held: SequenceVector, at: Date)?
    /// True if the state has changed since it was published, and a timer will publish it.
    var isStatePending = false

    init(
        engine: Engine, configuration: SyncedSessionConfiguration<State, Event>, at moment: Moment,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy> = .init(),
        isOwn: @escaping @Sendable (String) -> Bool = { _ in false }
    ) {
        self.isOwn = isOwn
        self.engine = engine
        self.hotPath = hotPath
        self.configuration = configuration
        self.moment = moment
        (listeningSince, lastExchangeAt) = (moment.now, moment.now)
        steadySince = max(moment.now, engine.firstUnusedMoment)
        checkpoints = CheckpointCoding(codec: configuration.checkpointCodec)
        ephemerals = EphemeralLane(
            source: engine.source, keysMax: EphemeralLimits.keysMax, peersMax: EphemeralLimits.peersMax + 1)
        series = Self.makeSeries(engine.featureID, engine.sessionID, engine.localPeerID, configuration)
    }

    mutating func takeDirectives() -> Directives {
        if directives.showsStatus {
            recordDepartures()
            noteClockOwner()
        }
        directives.updates = updates.take(
            engine.state, showsState: directives.showsState, isBehind: engine.isBehind, localPeerID: engine.localPeerID)
        defer { directives = Directives() }
        return directives
    }

    // MARK: - Phases

    /// Starts the session. `retained` is the newest snapshot that the transport has kept.
    mutating func start(retained: AnySessionSyncSnapshot?) {
        isRunning = true
        retainedSnapshot = retained
        requestSnapshot()
        if engine.hasHistory { publishSnapshot() }
        exchangeNow()
    }

    /// Stops listening. Queued work stays.
    mutating func stop() {
        catchUp()
        publishArrivals(atMost: .max)
        isRunning = false
        // The task that was reading it is cancelled.
        if arrivingCopy?.isComplete == true { forgetArrivingCopy() }
        isRequestPending = false
        ephemeralRepeats = EphemeralRepeats()
        isStatePending = false
        exchange = ExchangeSchedule()
        // A stopped session can't hear that peers hide their values.
        for peerID in ephemeralHeardAt.keys { forgetEphemerals(of: peerID) }
    }

    // MARK: - Own events

    mutating func submit(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        guard outgoing.events.count < configuration.outgoingMax else {
            throw SessionSyncError.queueFull(limit: configuration.outgoingMax)
        }
        let encoded = try roundTripped(event)
        let isSample = configuration.isHighRate(encoded.event)
        if isSample, !samples.accepts(capacity: engine.options.ownUnconfirmedMax, byteFill: byteFill, isAlone: isAlone)
        {
            statistics.thinnedOut += 1
            throw SessionSyncError.logFull(limit: engine.options.ownUnconfirmedMax)
        }
        let envelope = try accept(encoded) { [hotPath] in try hotPath.submit(&$0, encoded.event, moment) }
        if isSample { samples.count += 1 }
        return envelope
    }

    /// True if there is space for an event of any kind, high-rate ones included.
    var hasCapacity: Bool {
        let fill = Double(engine.ownUnconfirmedCount) / Double(max(1, engine.options.ownUnconfirmedMax))
        return outgoing.events.count < configuration.outgoingMax && max(fill, byteFill) < SampleThinning.share
    }

    /// The used share of the log's bytes: 1 is full.
    private var byteFill: Double {
        Double(engine.ownUnconfirmedByteCount) / Double(max(1, engine.options.ownUnconfirmedBytesMax))
    }

    /// Submits the session's last event. It has space even in a full log.
    mutating func end(with event: Event, at moment: Date) throws {
        let encoded = try roundTripped(event)
        _ = try accept(encoded) { try $0.end(with: encoded.event, at: moment) }
        directives.showsStatus = true
    }

    /// An event as decoded from its bytes, with those bytes.
    private typealias EncodedEvent = (event: Event, bytes: [UInt8])

    /// Encodes an event and decodes it again, because peers and this device's next launch reduce the decoded event.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`, or `payloadDecodingFailed` if the bytes can't be decoded.
    private mutating func roundTripped(_ event: Event) throws -> EncodedEvent {
        let codec = CompactCodec()
        let bytes: [UInt8]
        do { bytes = try codec.encode(event) } catch {
            throw SessionSyncError.payloadEncodingFailed(payloadType: engine.payloadType, description: "\(error)")
        }
        do {
            let copy = try codec.decode(Event.self, from: bytes)
            report(CodingLoss.report(from: event, to: copy, in: "an event of '\(engine.featureID)'"))
            return (copy, bytes)
        } catch {
            throw SessionSyncError.payloadDecodingFailed(payloadType: engine.payloadType, description: "\(error)")
        }
    }

    mutating func report(_ loss: CodingLoss?) {
        if let loss { raise(.codingLoss(type: loss.type, field: loss.field)) }
    }

    private mutating func accept(
        _ encoded: EncodedEvent, _ submit: (inout Engine) throws -> SessionSyncEnvelope<Event>
    ) throws -> SessionSyncEnvelope<Event> {
        let wasBehind = engine.isBehind
        let isSample = configuration.isHighRate(encoded.event)
        let earlier = hasComparableStates && !isSample && !wasBehind ? engine.state : nil
        let envelope = try submit(&engine)
        let isUnchanged = (earlier as? any Equatable)?.equals(engine.state) ?? false
        if wasBehind || updates.isKept { announceApplied() }
        if engine.options.eventBytes == nil { engine.weighLastSubmitted(encoded.bytes.count) }
        archive?.keep(encoded.bytes, of: engine.source, envelope.metadata.sequence)
        statistics.submitted += 1
        deliveries.add(envelope.metadata, isUnchanged: isUnchanged)
        let payload = EncodedPayload(bytes: encoded.bytes, codec: CompactCodec())
        outgoing.events.append(AnySessionSyncEnvelope(envelope, encoded: payload))
        directives.showsState = true
        directives.showsDeliveries = true
        wake()
        if !isSample { publishState() }
        // A control causes a write, so a device that is alone doesn't send one every second because of samples.
        scheduleExchange(isSample && isAlone ? .idle : .regular)
        return envelope
    }

    mutating func markSent(_ events: some Collection<AnySessionSyncEnvelope>) {
        for event in events { deliveries.markSent(event.metadata.eventID) }
        directives.showsDeliveries = true
    }

    /// Rebuilds the index of own events by ID, after their sources or sequences have changed.
    mutating func indexOwnEvents() {
        directives.showsDeliveries = true
        deliveries.forgetUnchanged()
        samples.count = engine.ownUnconfirmedEvents.count(where: configuration.isHighRate)
        let last = engine.held[engine.source]
        let newest = last - min(last, UInt64(DeliveryLedger.countMax)) + 1
        for record in engine.records(in: SessionRange(source: engine.source, first: newest, last: last)) {
            var metadata = SessionSyncMetadata(
                sessionID: engine.sessionID, featureID: engine.featureID, sourcePeerID: record.source.peerID,
                sequence: record.sequence, causalTimestamp: record.causalTimestamp, payloadType: engine.payloadType,
                stamp: record.stamp, incarnation: record.source.incarnation)
            if let id = record.eventID { metadata.eventID = id }
            guard case .event = record.content else { continue }
            deliveries.add(metadata)
        }
    }

    /// Requests a round, because there may be something to write or send.
    mutating func wake() {
        outgoing.needsRound = true
        directives.hasRound = true
    }
}

extension Equatable {
    fileprivate func equals(_ other: Any) -> Bool { self == other as? Self }
}

extension SessionSyncEngine {
    /// True if this engine has events that a peer may lack.
    var hasHistory: Bool { !store.lastSequenceByPeerID.isEmpty }
}
