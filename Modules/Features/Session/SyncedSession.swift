public import Foundation
import MeshBus
public import MeshEngine
public import MeshIdentity
public import MeshStorage
public import MeshTransport
import MeshWire
public import Observation

/// A feature's live session: one engine, one transport, one store, observable state.
///
/// ```swift
/// let session = SyncedSession(
///     sessionID: id, featureID: "workout", transport: transport,
///     initialState: Workout(), reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy())
/// session.start()
/// try session.submit(.pause)               // applies at once, is written, then travels
/// session.state                            // what a screen shows
/// session.peers                            // who is up to date, who is behind
/// ```
///
/// What is shown is optimistic: every event applies at once, at its place in the order that all devices share, and a
/// late one moves what came after it. What must happen once and for good waits for confirmation: `confirmedEvents()`
/// and `SyncedSessionConfiguration.onConfirmed`.
///
/// Lives on the main actor. Nothing it starts keeps it alive; dropping the last reference stops it.
@MainActor @Observable
public final class SyncedSession<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    public enum Phase: Hashable, Sendable {
        case stopped, running
        /// For good.
        case closed
    }

    typealias Engine = SessionSyncEngine<State, Event, Reducer, ConflictPolicy>

    /// The feature's state as this peer sees it now, local events included.
    public internal(set) var state: State
    public internal(set) var phase = Phase.stopped
    /// How every known peer stands, in the order of their ids.
    public internal(set) var peers: [SessionPeerStatus] = []
    /// In a group for good: events are confirmed from here on.
    public internal(set) var isMember = false
    /// The state is a peer's, of which the events are not held here.
    public internal(set) var isProvisional = false
    /// Events whose place will never change, since the group began.
    public internal(set) var confirmedCount: UInt64 = 0
    /// Peers that the transport calls reachable.
    public internal(set) var reachablePeerIDs: Set<String> = []
    /// Why the last send did not succeed; nil after one that did.
    public internal(set) var lastSendError: (any Error)?
    /// Why the store could not be read or written; nil once it could. Until then nothing is sent or confirmed, unless
    /// the session goes on in memory.
    public internal(set) var storeError: (any Error)?
    /// What an accepted event survives.
    public internal(set) var durability = StoreDurability.memory
    public internal(set) var statistics = SessionStatistics()

    @ObservationIgnored public let transport: any SessionSyncTransport
    @ObservationIgnored public let configuration: SyncedSessionConfiguration<State, Event>
    @ObservationIgnored var engine: Engine
    @ObservationIgnored let checkpoints: CheckpointCoding
    var deliveries = DeliveryLedger()

    // Where it is kept.
    @ObservationIgnored var archive: SessionArchive<State, Event>?
    @ObservationIgnored var writer: StoreWriter?

    // What is on its way out.
    @ObservationIgnored var outgoing = OutgoingQueue<Event>()
    @ObservationIgnored var unsaved = UnsavedWork<Event>()
    @ObservationIgnored var drain: Task<Void, Never>?
    @ObservationIgnored let drainOwner = OwnedTasks()
    @ObservationIgnored var effects = EffectQueue<Event>()
    @ObservationIgnored let effectTask = OwnedTasks()

    // What is known of peers beside the engine.
    @ObservationIgnored var heard: [String: HeardPeer] = [:]
    @ObservationIgnored var shownPeerID: String?
    /// Whether the transport names who is reachable.
    @ObservationIgnored var tellsReachability = false
    @ObservationIgnored var retainedSnapshot: AnySessionSyncSnapshot?
    /// The retained snapshot, while it is too old for want of a live peer.
    @ObservationIgnored var staleSnapshot: AnySessionSyncSnapshot?

    // Time.
    @ObservationIgnored var exchange = ExchangeSchedule()
    @ObservationIgnored let exchangeTimer = OwnedTasks()
    @ObservationIgnored var lastRequestAt: Date?
    @ObservationIgnored var isRequestOwed = false
    @ObservationIgnored let owedRequest = OwnedTasks()

    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored let stateTopic = Topic<State>(bufferLimit: 1)
    @ObservationIgnored let statusTopic = Topic<[SessionPeerStatus]>(bufferLimit: 1)
    @ObservationIgnored let remoteEventTopic = Topic<SessionSyncEnvelope<Event>>(bufferLimit: 1024)
    @ObservationIgnored let remoteSnapshotTopic = Topic<SessionSyncSnapshot<State>>(bufferLimit: 16)
    @ObservationIgnored let confirmedTopic = Topic<SessionConfirmedEvent<Event>>(bufferLimit: 4096)
    @ObservationIgnored let alarmTopic = Topic<SessionAlarm>(bufferLimit: 64)

    /// A session with nothing in it, in memory. One that has a store is opened with `open`.
    public convenience init(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, initialState: State, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) {
        let engine = Engine(
            sessionID: sessionID, featureID: featureID, localPeerID: transport.localPeer.id,
            payloadType: configuration.payloadType ?? "\(featureID).event",
            snapshotPayloadType: configuration.snapshotPayloadType ?? "\(featureID).state",
            initialState: initialState, reducer: reducer, conflictPolicy: conflictPolicy,
            incarnation: configuration.incarnation ?? .random(in: 1 ... .max), seed: configuration.randomSeed(),
            members: configuration.members, options: configuration.engineOptions)
        self.init(engine: engine, transport: transport, configuration: configuration)
    }

    init(
        engine: Engine, transport: any SessionSyncTransport, configuration: SyncedSessionConfiguration<State, Event>
    ) {
        self.transport = transport
        self.configuration = configuration
        self.engine = engine
        checkpoints = CheckpointCoding(codec: configuration.checkpointCodec)
        state = engine.state
        refreshStatus()
    }

    public var sessionID: UUID { engine.sessionID }
    public var featureID: String { engine.featureID }
    /// This peer's store, as it signs its events.
    public var source: SessionSource { engine.source }

    /// Begins to listen, takes the newest snapshot that the transport has kept, and asks the peers for theirs.
    /// Idempotent; does nothing once closed.
    public func start() {
        guard phase == .stopped else { return }
        phase = .running
        retainedSnapshot = transport.latestPeerSnapshot(featureID: featureID)
        listen()
        requestSnapshot()
        if engine.hasHistory { publishSnapshot() }
        exchangeNow()
    }

    /// Stops listening and sending; what waits to be sent stays and leaves after the next `start`.
    public func stop() {
        guard phase == .running else { return }
        phase = .stopped
        cancelTasks()
    }

    /// Submits the last event, if there is one, waits until it and the final snapshot have been handed to the
    /// transport and reachable members have acknowledged, at most for `closePatience`, and stops for good. The transport
    /// stays open: it may serve other features.
    /// - Throws: what `submit` throws; the session is then still running.
    public func close(with finalEvent: Event? = nil, at moment: Date? = nil) async throws {
        guard phase != .closed else { return }
        if let finalEvent { try submit(finalEvent, at: moment ?? now) }
        if phase == .running {
            if engine.hasHistory { publishSnapshot() }
            await drained()
            await acknowledged()
        }
        phase = .closed
        cancelTasks()
        stateTopic.finish()
        statusTopic.finish()
        remoteEventTopic.finish()
        remoteSnapshotTopic.finish()
        confirmedTopic.finish()
        alarmTopic.finish()
    }

    /// Applies a local event at once, then writes it, sends it and, unless it is of a high rate, the new state.
    ///
    /// - Parameter moment: the time of the tap, by the session's clock (`now`) where devices compare times.
    /// - Throws: what the reducer throws, `SessionSyncError.queueFull` while too much waits to be sent, `logFull` while
    ///   too much is unconfirmed, or `closed`. No sequence is taken then.
    @discardableResult
    public func submit(_ event: Event, at moment: Date) throws -> SessionSyncEnvelope<Event> {
        guard phase != .closed else { throw SessionSyncError.closed }
        guard outgoing.events.count < configuration.outgoingMax else {
            throw SessionSyncError.queueFull(limit: configuration.outgoingMax)
        }
        let envelope = try engine.submitLocal(event, at: moment)
        weigh(envelope)
        showState()
        statistics.submitted += 1
        deliveries.add(envelope.metadata)
        outgoing.events.append(envelope)
        if !configuration.isHighRate(event) { publishSnapshot() }
        wake()
        scheduleExchange(.regular)
        return envelope
    }

    /// The same, now.
    @discardableResult
    public func submit(_ event: Event) throws -> SessionSyncEnvelope<Event> { try submit(event, at: now) }

    /// The same, now, for an event that carries the moment of its tap: `try session.submit { .pause(at: $0) }`.
    @discardableResult
    public func submit(_ event: (Date) -> Event) throws -> SessionSyncEnvelope<Event> {
        let moment = now
        return try submit(event(moment), at: moment)
    }

    /// Encodes an event once for the log's bound and for the store.
    private func weigh(_ envelope: SessionSyncEnvelope<Event>) {
        // What cannot be encoded is an error where it is to be written or sent.
        guard engine.options.eventBytes == nil, let bytes = try? CompactCodec().encode(envelope.payload) else { return }
        engine.weighLastSubmitted(bytes.count)
        if archive != nil { archive?.keep(bytes, of: engine.source, envelope.metadata.sequence) }
    }

    func showState() {
        state = engine.state
        stateTopic.publish(state)
    }

    private func cancelTasks() {
        listeners.cancel()
        owedRequest.cancel()
        isRequestOwed = false
        exchangeTimer.cancel()
        exchange = ExchangeSchedule()
        drain?.cancel()
        outgoing.isDraining = false
    }

    private func listen() {
        let envelopes = transport.receiveEnvelopeBatches { [featureID] in $0.featureID == featureID }
        let snapshots = transport.receiveSnapshots()
        let requests = transport.receiveSnapshotRequests()
        let reachability = transport.reachabilityChanges()
        listeners.hold([
            Task { [weak self] in for await change in reachability { self?.receive(change) } },
            Task { [weak self] in for await batch in envelopes { self?.receive(batch) } },
            Task { [weak self] in for await snapshot in snapshots { self?.receive(snapshot) } },
            Task { [weak self] in for await request in requests { self?.receive(request) } },
        ])
    }
}
