import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshStorage
import MeshTransport
import MeshWire

/// A session as a value: what the app, the transport and the timers tell goes in, each with its time; what is to be shown,
/// written, sent and waited for comes out. It owns the engine. No task, no clock, no transport; `SyncedSession` has those
/// and drives it, and so may a test.
struct SessionCore<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    typealias Engine = SessionSyncEngine<State, Event, Reducer, ConflictPolicy>

    /// When a turn takes place, and whom the transport knows then.
    struct Moment {
        var now: Date
        var knownPeers: [SessionPeer] = []
    }

    /// What a turn asks of whoever drives the session.
    struct Directives {
        var showsState = false
        var showsStatus = false
        var showsCopy = false
        var showsDeliveries = false
        var showsEphemerals = false
        var showsSeries = false
        /// What is to be told, in order.
        var remoteEvents: [SessionSyncEnvelope<Event>] = []
        var remoteSnapshots: [SessionSyncSnapshot<State>] = []
        var confirmed: [SessionConfirmedEvent<Event>] = []
        var alarms: [SessionAlarm] = []
        /// The same in one order.
        var updates: [SessionUpdate<State, Event>] = []
        var ephemerals: [EphemeralLane<[UInt8]>.Sample] = []
        /// `takeRound` has something.
        var hasRound = false
        var runsEffects = false
        /// Stretches of series that peers have asked for, to be read and sent.
        var servings: [SeriesServing] = []
        /// To be read, and then given to `adopt`.
        var arrivedCopy: ArrivingCopy?
        /// In how long to call `catchUp` until the engine is no longer behind.
        var catchUpIn: Duration?
        /// A state to make a digest of, for `takeDigest`.
        var milestone: SessionMilestone<State>?
        /// In how long to call `exchange` and `sendOwedRequest`, and no longer when it was to be before; nil leaves it.
        var exchangeIn: Duration?
        var requestIn: Duration?
        /// The same for `sendEphemerals`, `publishOwedState` and `tellDueSeries`.
        var ephemeralsIn: Duration?
        var stateIn: Duration?
        var seriesIn: Duration?
    }

    let configuration: SyncedSessionConfiguration<State, Event>
    let checkpoints: CheckpointCoding
    let hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    private let hasComparableStates = State.self is any Equatable.Type
    /// Whether the link says that a peer is the user's own.
    let isOwn: @Sendable (String) -> Bool
    var engine: Engine
    /// Of the turn that is under way or was the last.
    var moment: Moment
    var directives = Directives()
    private(set) var isRunning = false
    /// For good.
    var isClosed = false
    var statistics = SessionStatistics()
    var deliveries = DeliveryLedger()

    // What is on its way out.
    var archive: SessionArchive<State, Event>?
    var outgoing = OutgoingQueue()
    var unsaved = UnsavedWork<Event>()
    var effects = EffectQueue<Event>()
    var samples = SampleRoom()

    /// Events that have their places and are told once the state shows them.
    var arrivals: [SessionSyncEnvelope<Event>] = []
    var updates = UpdateJournal<State, Event>()
    /// Since when the state does not show all that has come.
    var behindSince: Date?

    // What is known of peers beside the engine.
    var heard: [String: HeardPeer] = [:]
    /// Peers whose last control was no member's.
    var strangers: Set<String> = []
    var company = CompanyLedger()
    /// Peers that run another session or feature, as far as that was reported.
    var elsewhere: Set<String> = []
    var shownPeerID: String?
    var reachablePeerIDs: Set<String> = []
    /// Whether the transport names who is reachable.
    var tellsReachability = false
    var retainedSnapshot: AnySessionSyncSnapshot?
    /// The retained snapshot, while it is too old for want of a live peer.
    var staleSnapshot: AnySessionSyncSnapshot?

    // Values of which only the newest counts, and when each peer last told its own.
    var ephemerals: EphemeralLane<[UInt8]>
    var ephemeralHeardAt: [String: Date] = [:]
    /// When own ones last left, and which leave again when.
    var ephemeralsSentAt: Date?
    var ephemeralRepeats = EphemeralRepeats()

    // Samples beside the order.
    var series: SeriesShelf
    var seriesSchedule = SeriesSchedule()

    // Copies that are too large for one message, one each way.
    var offeredCopy: OfferedCopy?
    var arrivingCopy: ArrivingCopy?
    /// What has become this session's, and is told once the state shows it.
    var adoptedCopy: AdoptedCopy?
    /// As large a part of a copy as the transport takes.
    var pieceBytes = CopyPiece.bytesMax

    /// Since when this device has listened without a pause: what it did not hear before says nothing of who is away.
    var listeningSince: Date
    /// Earlier moments of this device's clock may be those of another launch, when it may have shown something else.
    var steadySince: Date
    /// Whose clock the session goes by, and when that last changed, by either clock.
    var ownerChange: (owner: String, at: Date?)?
    var lastExchangeAt: Date
    /// The longest time for which an exchange was scheduled since then.
    var silenceMaximum = Duration.zero

    var comparisons = ComparisonSchedule()

    // What was last asked and said, and when.
    var exchange = ExchangeSchedule()
    var lastRequestAt: Date?
    var isRequestOwed = false
    /// What the state had that was sent to everybody last, and when that was.
    var told: (held: SequenceVector, at: Date)?
    /// The state has changed since it was published, and a timer waits for its turn.
    var isStateOwed = false

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

    /// - Parameter retained: the newest snapshot that the transport has kept.
    mutating func start(retained: AnySessionSyncSnapshot?) {
        isRunning = true
        retainedSnapshot = retained
        requestSnapshot()
        if engine.hasHistory { publishSnapshot() }
        exchangeNow()
    }

    /// What waits stays.
    mutating func stop() {
        catchUp()
        tellArrivals(atMost: .max)
        isRunning = false
        // Whoever was about to read it has been stopped.
        if arrivingCopy?.isComplete == true { forgetArrivingCopy() }
        isRequestOwed = false
        ephemeralRepeats = EphemeralRepeats()
        isStateOwed = false
        exchange = ExchangeSchedule()
        // Nobody would hear that they have gone.
        for peerID in ephemeralHeardAt.keys { forgetEphemerals(of: peerID) }
    }

    // MARK: - Own events

    mutating func submit(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        guard outgoing.events.count < configuration.outgoingMax else {
            throw SessionSyncError.queueFull(limit: configuration.outgoingMax)
        }
        let coded = try code(event)
        let isSample = configuration.isHighRate(coded.event)
        if isSample, !samples.takes(in: engine.options.ownUnconfirmedMax, byteFill: byteFill, isAlone: isAlone) {
            statistics.thinnedOut += 1
            throw SessionSyncError.logFull(limit: engine.options.ownUnconfirmedMax)
        }
        let envelope = try take(coded) { try $0.submitLocal(coded.event, at: moment) }
        if isSample { samples.count += 1 }
        return envelope
    }

    /// For an event of any kind.
    var hasRoom: Bool {
        let fill = Double(engine.ownUnconfirmedCount) / Double(max(1, engine.options.ownUnconfirmedMax))
        return outgoing.events.count < configuration.outgoingMax && max(fill, byteFill) < SampleRoom.share
    }

    /// How full the log is by bytes: 1 is full.
    private var byteFill: Double {
        Double(engine.ownUnconfirmedByteCount) / Double(max(1, engine.options.ownUnconfirmedBytesMax))
    }

    /// Submits the last event of all devices, for which there is room whatever waits.
    mutating func end(with event: Event, at moment: Date) throws {
        let coded = try code(event)
        _ = try take(coded) { try $0.end(with: coded.event, at: moment) }
        directives.showsStatus = true
    }

    /// An event as its bytes say it, and those bytes.
    private typealias CodedEvent = (event: Event, bytes: [UInt8])

    /// Peers, and the next launch here, reduce what an event's bytes say; so this device does too.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`, or `payloadDecodingFailed` for bytes that no device could read.
    private mutating func code(_ event: Event) throws -> CodedEvent {
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
        if let loss { tell(.codingLoss(type: loss.type, field: loss.field)) }
    }

    private mutating func take(
        _ coded: CodedEvent, _ submit: (inout Engine) throws -> SessionSyncEnvelope<Event>
    ) throws -> SessionSyncEnvelope<Event> {
        let wasBehind = engine.isBehind
        let isSample = configuration.isHighRate(coded.event)
        let earlier = hasComparableStates && !isSample && !wasBehind ? engine.state : nil
        let envelope = try submit(&engine)
        let isUnchanged = (earlier as? any Equatable)?.equals(engine.state) ?? false
        if wasBehind || updates.isKept { announceApplied() }
        if engine.options.eventBytes == nil { engine.weighLastSubmitted(coded.bytes.count) }
        archive?.keep(coded.bytes, of: engine.source, envelope.metadata.sequence)
        statistics.submitted += 1
        deliveries.add(envelope.metadata, isUnchanged: isUnchanged)
        let encoded = EncodedPayload(bytes: coded.bytes, codec: CompactCodec())
        outgoing.events.append(AnySessionSyncEnvelope(envelope, encoded: encoded))
        directives.showsState = true
        directives.showsDeliveries = true
        wake()
        if !isSample { publishState() }
        // What an exchange says is written first: not each second of a day alone.
        scheduleExchange(isSample && isAlone ? .idle : .regular)
        return envelope
    }

    mutating func markSent(_ events: some Collection<AnySessionSyncEnvelope>) {
        for event in events { deliveries.markSent(event.metadata.eventID) }
        directives.showsDeliveries = true
    }

    /// Own events by their ids, after their names have changed.
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

    /// Something may have to be written or sent.
    mutating func wake() {
        outgoing.needsRound = true
        directives.hasRound = true
    }
}

extension Equatable {
    fileprivate func equals(_ other: Any) -> Bool { self == other as? Self }
}

extension SessionSyncEngine {
    /// Whether there is anything that a peer could not know without this one.
    var hasHistory: Bool { !store.lastSequenceByPeerID.isEmpty }
}
