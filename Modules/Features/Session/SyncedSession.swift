public import Foundation
import MeshBase
public import MeshEngine
public import MeshIdentity
import MeshSeries
public import MeshStorage
public import MeshTransport
import MeshWire
public import Observation

/// A feature's live session: one engine, one transport, one store, observable state.
///
/// ```swift
/// let session = try await SessionOf<Score>.open(Score(), sessionID: sessionID, over: transport, store: store)
/// session.start()
/// try session.submit(.home)                // applies at once, is stored, then sent
/// session.state.home                       // what a screen shows
/// session.peers                            // which peers are up to date or behind
/// ```
///
/// The shown state is optimistic. Every event applies at once, at its place in the order that all devices share. A late
/// event moves the events after it. For work that must run once and can't be undone, wait for confirmation: use
/// `confirmedEvents()` or `SyncedSessionConfiguration.onConfirmed`.
///
/// Lives on the main actor. Its tasks don't keep it alive; releasing the last reference stops it.
@MainActor @Observable
public final class SyncedSession<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    /// The stages of a session.
    public enum Phase: Hashable, Sendable {
        /// The session is stopped (before `start` and after `stop`), or running.
        case stopped, running
        /// The session is closed and can't be started again.
        case closed
    }

    typealias Core = SessionCore<State, Event, Reducer, ConflictPolicy>
    @usableFromInline typealias HotPath = SessionHotPath<State, Event, Reducer, ConflictPolicy>

    /// The session's present stage.
    public private(set) var phase = Phase.stopped
    /// Members that left the group or were removed since the session was opened here, this device included. The newest
    /// 64, in the order in which this device learned of them. A member that came back is in `memberIDs`.
    public private(set) var departures: [SessionDeparture] = []
    /// The number of departures so far, which may exceed the number in `departures`.
    public private(set) var departureCount = 0
    /// True while this device is a member of the session's group. Events are confirmed only in a group.
    public private(set) var isMember = false
    /// True if a member has ended the session. `submit` then throws on every device; events that were accepted before
    /// still arrive.
    public private(set) var hasEnded = false
    /// True while the state is a peer's snapshot and this device doesn't hold the events that led to it.
    public private(set) var isProvisional = false
    /// The progress of a copy of the session that is too large for one message; nil if none is arriving.
    public private(set) var copyProgress: SessionCopyProgress?
    /// The number of membership changes since the group began.
    public private(set) var viewNumber: UInt64 = 0
    /// Peers that the transport reports as reachable.
    public private(set) var reachablePeerIDs: Set<String> = []
    /// The error of the last send, or nil if it succeeded.
    public internal(set) var lastSendError: (any Error)?
    /// The error of the store, or nil if the last write succeeded. While writes fail, the session sends and confirms
    /// nothing, unless it continues in memory. `StorageError.Code.damaged` just after `open` means that a damaged
    /// series was set aside and everything else is loaded.
    public internal(set) var storeError: (any Error)? {
        didSet { reportStoreError() }
    }
    /// The kind of failure that accepted events survive.
    public internal(set) var durability = StoreDurability.memory
    /// Changes whenever the result of `values(of:)` may have changed.
    private(set) var ephemeralTurn: UInt64 = 0
    /// Changes whenever series may have grown.
    private(set) var seriesTurn: UInt64 = 0

    /// The values that change with nearly every turn, such as `state` and `peers`; see `ShownValues`.
    @ObservationIgnored var shown: ShownValues<State>
    @ObservationIgnored let shownPaths = ShownPaths<SyncedSession, State>(
        state: \.state, peers: \.peers, confirmedCount: \.confirmedCount, statistics: \.statistics,
        deliveryTurn: \.deliveryTurn)

    /// The transport that connects the session with its peers. The session starts it, but doesn't close it.
    @ObservationIgnored public let transport: any SessionSyncTransport
    /// The configuration that the session was created with.
    @ObservationIgnored public let configuration: SyncedSessionConfiguration<State, Event>
    @ObservationIgnored let board = ProblemBoard()
    @ObservationIgnored let steadyClock: SteadyClock
    /// Storage of `core`.
    @ObservationIgnored var coreStorage: Core
    /// Increases with every mutating access to `core`.
    @ObservationIgnored var coreVersion: UInt64 = 0
    @ObservationIgnored var backgroundTurnCount = 0
    @ObservationIgnored var writer: StoreWriter?
    /// Keeps series if the session has no store.
    @ObservationIgnored let memory = StoreWriter(MemoryStore())

    @ObservationIgnored let guests: SessionGuests
    @ObservationIgnored let run: SessionRun
    // Used in `SyncedSession+Problems`.
    @ObservationIgnored var hasStarted = false
    @ObservationIgnored var isStartExpected = false
    @ObservationIgnored let startTimer = OwnedTasks()
    /// Sessions that peers run instead of this one, by peer ID.
    @ObservationIgnored var otherSessions: [String: OtherSession] = [:]
    @ObservationIgnored var isAnswerAwaited = false
    @ObservationIgnored let differenceTimer = OwnedTasks()
    /// Peers that wait to be admitted, and since when.
    @ObservationIgnored var waitingPeers: [String: Date] = [:]
    @ObservationIgnored var isFull = false
    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored private let exchangeTimer = OwnedTasks()
    @ObservationIgnored private let requestTimer = OwnedTasks()
    @ObservationIgnored private let ephemeralTimer = OwnedTasks()
    @ObservationIgnored private let stateTimer = OwnedTasks()
    @ObservationIgnored private let seriesTimer = OwnedTasks()
    @ObservationIgnored let effectTask = OwnedTasks()
    @ObservationIgnored var isRunningEffects = false
    @ObservationIgnored let catchUpTask = OwnedTasks()
    @ObservationIgnored var isCatchingUp = false
    @ObservationIgnored let copyTask = OwnedTasks()
    @ObservationIgnored let digestTask = OwnedTasks()
    @ObservationIgnored let servingTask = OwnedTasks()
    /// The latest series request of each peer.
    @ObservationIgnored var servings: [String: SeriesResponse] = [:]
    @ObservationIgnored var isServing = false
    /// Intents that this process has started, even if the state doesn't show that yet. Shared by all services.
    @ObservationIgnored var startedIntentIDs: Set<UUID> = []
    @ObservationIgnored let drainOwner = OwnedTasks()
    @ObservationIgnored var drain: Task<Void, Never>?
    @ObservationIgnored var isDraining = false
    /// The last time that the state didn't fit into a message.
    @ObservationIgnored var stateWasTooLargeAt: Date?

    @ObservationIgnored let stateTopic = Topic<State>(bufferLimit: 1)
    @ObservationIgnored let statusTopic = Topic<[SessionPeerStatus]>(bufferLimit: 1)
    @ObservationIgnored let seriesTopic = Topic<[SeriesStatus]>(bufferLimit: 1)
    @ObservationIgnored let remoteEventTopic = Topic<SessionSyncEnvelope<Event>>(bufferLimit: 1024)
    @ObservationIgnored let remoteSnapshotTopic = Topic<SessionSyncSnapshot<State>>(bufferLimit: 16)
    @ObservationIgnored let confirmedTopic = Topic<SessionConfirmedEvent<Event>>(bufferLimit: 4096)
    @ObservationIgnored let alarmTopic = Topic<SessionAlarm>(bufferLimit: SessionAlarm.keptMax)
    /// The newest alarms, kept for the first subscriber.
    @ObservationIgnored var bufferedAlarms: [SessionAlarm] = []
    @ObservationIgnored let ephemeralTopic = Topic<EphemeralLane<[UInt8]>.Sample>(bufferLimit: 256)
    @ObservationIgnored let updateConsumers = UpdateConsumers<State, Event>()
    @ObservationIgnored private let capacityTopic = Topic<Void>(bufferLimit: 1)
    @ObservationIgnored private var isCapacityAwaited = false

    /// Creates an empty session in memory. To use a store, call `open`.
    @inlinable
    public convenience init(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, initialState: State, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event> = .init()
    ) {
        self.init(
            sessionID: sessionID, featureID: featureID, transport: transport, initialState: initialState,
            reducer: reducer, conflictPolicy: conflictPolicy, configuration: configuration, hotPath: SessionHotPath())
    }

    @usableFromInline
    convenience init(
        sessionID: UUID, featureID: String, transport: any SessionSyncTransport, initialState: State, reducer: Reducer,
        conflictPolicy: ConflictPolicy, configuration: SyncedSessionConfiguration<State, Event>,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    ) {
        let engine = Core.Engine(
            sessionID: sessionID, featureID: featureID, localPeerID: transport.localPeer.id,
            payloadType: configuration.payloadType ?? "\(featureID).event",
            snapshotPayloadType: configuration.snapshotPayloadType ?? "\(featureID).state",
            initialState: Self.decodedCopy(of: initialState, featureID), reducer: reducer,
            conflictPolicy: conflictPolicy,
            incarnation: configuration.incarnation ?? .random(in: 1 ... .max), seed: configuration.randomSeed(),
            members: configuration.members, options: configuration.engineOptions)
        self.init(engine: engine, transport: transport, configuration: configuration, hotPath: hotPath)
    }

    init(
        engine: Core.Engine, transport: any SessionSyncTransport,
        configuration: SyncedSessionConfiguration<State, Event>,
        hotPath: SessionHotPath<State, Event, Reducer, ConflictPolicy>
    ) {
        self.transport = transport
        self.configuration = configuration
        steadyClock = SteadyClock(wall: configuration.now, uptime: configuration.uptime)
        guests = SessionGuests(transport, sessionID: engine.sessionID, featureID: engine.featureID)
        run = SessionRun(
            StartedSessions.Place(
                peerID: transport.localPeer.id, featureID: engine.featureID, sessionID: engine.sessionID),
            uptime: configuration.uptime, warn: configuration.warn)
        coreStorage = Core(
            engine: engine, configuration: configuration,
            at: Core.Moment(now: steadyClock.now, knownPeers: transport.knownPeers), hotPath: hotPath,
            isOwn: { transport.isOwn($0) })
        shown = ShownValues(state: engine.state)
        showStatus()
    }

    /// Encodes the initial state and returns the decoded copy. So this device begins with the same value as a relaunch
    /// and a newcomer, which decode it. Returns the state itself if it can't be encoded; writing or sending it then
    /// reports the error.
    private static func decodedCopy(of initialState: State, _ featureID: String) -> State {
        guard let copy = try? CompactCodec().decodedCopy(of: initialState) else { return initialState }
        CodingLoss.report(from: initialState, to: copy, in: "the initial state of '\(featureID)'")
        return copy
    }

    /// The ID of the session, the same on all its devices.
    public var sessionID: UUID { core.engine.sessionID }
    /// The feature that the session belongs to.
    public var featureID: String { core.engine.featureID }
    /// The source that signs this device's events: its peer ID and incarnation.
    public var source: SessionSource { core.engine.source }

    /// Starts listening, starts the transport, takes the newest snapshot that the transport kept, and requests peers'
    /// snapshots. If the transport can't start, `problems` says so; call again to retry. Does nothing once closed.
    public func start() {
        guard phase == .stopped else {
            if phase == .running { board.start(transport) }
            return
        }
        phase = .running
        noteStart()
        let retained = transport.latestPeerSnapshot(featureID: featureID)
        core.pieceBytes = min(
            CopyPiece.bytesMax, configuration.copyMessageBytesMax,
            (transport.capabilities.maximumPayloadSize ?? .max) / 2)
        listen()
        turn { $0.start(retained: retained) }
        admitGuests()
        board.start(transport)
    }

    /// Stops listening and sending. Queued messages are kept, and sent after the next `start`.
    public func stop() {
        guard phase == .running else { return }
        phase = .stopped
        turn { $0.stop() }
        cancelTasks()
        noteStop()
    }

    /// Closes the session for good, once all events and a final snapshot are with the transport and the reachable
    /// members have acknowledged, or after `closeTimeout`. Then waits for running side effects (`onConfirmed`), however
    /// long they take. The transport stays open for other features.
    ///
    /// Without a final event only this device closes its session. With one, for which there is always room, the call
    /// **ends the session on every device**. `hasEnded` becomes true on a device as soon as it hears of the end, and
    /// `submit` throws `SessionSyncError.sessionEnded` there. A member that was out of reach hears of the end when this
    /// device opens the session again. A reopened session sends what members still lack; if they lack nothing, it is
    /// closed from the start. If a member has already ended the session, the final event is dropped.
    /// - Throws: the reducer's error, or an encoding error; the session then isn't closed.
    public func close(with finalEvent: Event? = nil, at moment: Date? = nil) async throws {
        guard phase != .closed else { return }
        if let finalEvent, !core.engine.hasEnded {
            let moment = moment ?? now
            try turn { try $0.end(with: finalEvent, at: moment) }
            // A stopped session neither writes nor sends.
            start()
        }
        turn { [now] in $0.hideAll(at: now) }
        if phase == .running {
            turn { $0.catchUp() }
            turn { $0.reportSeries(isClosing: true) }
            if core.engine.hasHistory { turn { $0.publishSnapshot() } }
            await waitUntilDrained()
            await waitForAcknowledgements()
        }
        turn { $0.stop() }
        cancelTasks()
        finish()
        await effectTask.finished()
        // A write that has begun doesn't end with its task. Afterwards the app may close the store.
        await drain?.value
    }

    /// Closes a session that is over. Its state can still be read.
    func closeIfOver() {
        if core.engine.isOver { finish() }
    }

    private func finish() {
        phase = .closed
        core.isClosed = true
        guests.end()
        noteStop()
        stateTopic.finish()
        statusTopic.finish()
        seriesTopic.finish()
        remoteEventTopic.finish()
        remoteSnapshotTopic.finish()
        confirmedTopic.finish()
        alarmTopic.finish()
        ephemeralTopic.finish()
        updateConsumers.finish()
        capacityTopic.finish()
    }

    /// Waits at most `closeTimeout` until reachable members have acknowledged this device's events and samples. Then
    /// sends them a last control, and waits for running side effects.
    private func waitForAcknowledgements() async {
        await wait(while: { $0.hasReachableMemberBehind })
        turn { $0.exchangeNow() }
        repeat {
            await waitUntilDrained()
            await effectTask.finished()
            // The effects that ended must be marked in the store, or they would run again after a relaunch.
        } while isRunning && (isDraining || isRunningEffects)
    }

    /// Exchanges controls until the condition is false or `closeTimeout` is over.
    func wait(while isWaiting: (Core) -> Bool) async {
        let step = Duration.milliseconds(100)
        var waited = Duration.zero
        while phase == .running, waited < configuration.closeTimeout, isWaiting(core) {
            turn { $0.exchangeNow(isClosing: true) }
            await waitUntilDrained()
            try? await configuration.wait(step)
            waited += step
        }
    }

    /// Applies a local event at once, then writes and sends it. Also sends the new state, unless the event is
    /// high-rate.
    ///
    /// The event is encoded once, and its decoded copy is reduced and returned. So this device shows the same event as
    /// all others, even if encoding loses a field.
    ///
    /// - Parameters:
    ///   - moment: the time of the tap, by the session's clock (`now`) if devices compare times.
    ///   - urgency: `wake` also wakes a suspended watch app, within the daily budget (`remainingWakes`).
    /// - Throws: the reducer's error. `SessionSyncError.queueFull` while too many events wait to be sent. `logFull`
    ///   while too many are unconfirmed (see `waitForRoom`), or if a high-rate event is thinned out. `sessionEnded` or
    ///   `sessionClosed`. `payloadEncodingFailed` if the event can't be encoded, `payloadDecodingFailed` if no device
    ///   could read it. A call that throws uses up no sequence number.
    @discardableResult
    public func submit(
        _ event: Event, at moment: Date, urgency: SessionUrgency = .normal
    ) throws -> SessionSyncEnvelope<Event> {
        guard _phase != .closed else { throw SessionSyncError.sessionClosed }
        if !hasStarted { expectStart() }
        do {
            let envelope = try turn { try $0.submit(event, at: moment) }
            // Early enough: the event is handed to the transport in a later turn of the main actor.
            if urgency == .wake { transport.expedite(eventID: envelope.metadata.eventID, featureID: featureID) }
            return envelope
        } catch {
            reportFull(error)
            throw error
        }
    }

    /// Submits an event that happens now. Throws the errors of ``submit(_:at:urgency:)``.
    @discardableResult
    public func submit(_ event: Event, urgency: SessionUrgency = .normal) throws -> SessionSyncEnvelope<Event> {
        try submit(event, at: now, urgency: urgency)
    }

    /// Submits an event that carries the moment of its tap. The session's clock supplies the moment:
    /// `try session.submit { .pause(at: $0) }`.
    @discardableResult
    public func submit(
        urgency: SessionUrgency = .normal, _ event: (Date) -> Event
    ) throws -> SessionSyncEnvelope<Event> {
        let moment = now
        return try submit(event(moment), at: moment, urgency: urgency)
    }

    /// Returns when there is room for any event: at once, after peers have confirmed some, or when the session closes.
    /// - Throws: `CancellationError`.
    public func waitForRoom() async throws {
        while phase != .closed, !core.hasCapacity {
            isCapacityAwaited = true
            var changes = capacityTopic.subscribe().makeAsyncIterator()
            await changes.next()
            try Task.checkCancellation()
        }
    }

    private func cancelTasks() {
        listeners.cancel()
        catchUpTask.cancel()
        isCatchingUp = false
        copyTask.cancel()
        digestTask.cancel()
        core.comparisons.isUnderWay = false
        servingTask.cancel()
        isServing = false
        requestTimer.cancel()
        exchangeTimer.cancel()
        ephemeralTimer.cancel()
        stateTimer.cancel()
        seriesTimer.cancel()
        drain?.cancel()
        isDraining = false
    }

    private func listen() {
        // Receive other features' controls too: they reveal a peer whose IDs differ.
        let envelopes = transport.envelopeBatches { [featureID] in
            $0.featureID == featureID || SessionControl.isControl($0.payloadType)
        }
        let snapshots = transport.receiveSnapshots()
        let requests = transport.receiveSnapshotRequests()
        let reachability = transport.reachabilityChanges()
        let revocations = transport.revokedPeers()
        listeners.hold([
            Task { [weak self] in for await change in reachability { self?.receive(change) } },
            Task { [weak self] in
                guard let revocations else { return }
                for await peerIDs in revocations { self?.turn { $0.revoke(peerIDs) } }
            },
            Task { [weak self] in
                while let batch = await envelopes.next() {
                    for slice in Slices(batch[...]) {
                        self?.receive(Array(slice))
                        // A full stream delivers without suspending, so give other tasks a turn.
                        if slice.count >= 64 { await Task.yield() }
                    }
                }
            },
            Task { [weak self] in
                for await snapshot in snapshots {
                    guard self?.core.isMine(snapshot.metadata) == true else { continue }
                    if snapshot.isLarge {
                        await self?.backgroundTurn { $0.receive(snapshot) }
                    } else {
                        self?.turn { $0.receive(snapshot) }
                    }
                }
            },
            Task { [weak self] in for await request in requests { self?.turn { $0.receive(request) } } },
        ])
    }

    private func receive(_ batch: [AnySessionSyncEnvelope]) {
        let others = core.envelopesOfOthers(in: batch)
        if others.count < batch.count { turn { $0.receive(batch) } }
        if !others.isEmpty || !otherSessions.isEmpty { compareIDs(batch, others: others) }
    }

    private func receive(_ change: SessionPeerReachability) {
        turn { $0.receive(change) }
        if !change.isReachable, let peer = change.peer { forgetOtherSession(of: peer.id) }
    }
}

// MARK: - Turns

extension SyncedSession {
    /// Runs one change of the core and carries out the directives that it leaves.
    func turn<Result>(_ body: (inout Core) throws -> Result) rethrows -> Result {
        core.moment = Core.Moment(now: steadyClock.now, knownPeers: transport.knownPeers)
        defer { carryOut(core.takeDirectives()) }
        return try body(&core)
    }

    /// Runs a slow change on a copy of the core, off the main actor. Keeps the copy if the core hasn't changed
    /// meanwhile. After three failed tries it runs on the main actor.
    func backgroundTurn<Result: Sendable>(_ body: @escaping @Sendable (inout Core) -> Result) async -> Result {
        backgroundTurnCount += 1
        defer { backgroundTurnCount -= 1 }
        for _ in 0..<3 {
            core.moment = Core.Moment(now: steadyClock.now, knownPeers: transport.knownPeers)
            let (version, earlier) = (coreVersion, coreStorage)
            let (changed, result) = await Self.apply(body, to: earlier)
            guard version == coreVersion else { continue }
            core = changed
            carryOut(core.takeDirectives())
            return result
        }
        return turn(body)
    }

    nonisolated private static func apply<Result: Sendable>(
        _ body: @Sendable (inout Core) -> Result, to core: Core
    ) async -> (Core, Result) {
        var core = core
        let result = body(&core)
        return (core, result)
    }

    private func carryOut(_ directives: Core.Directives) {
        // Observers may call the session, so they are notified before the core is read again.
        if directives.showsState {
            let state = core.engine.state
            show(state: state)
            stateTopic.publish(state)
        }
        let statistics = core.statistics
        show(statistics)
        if directives.showsDeliveries { showDeliveries() }
        if directives.showsEphemerals { ephemeralTurn &+= 1 }
        if directives.showsSeries { showSeries() }
        if directives.showsStatus { showStatus() }
        if directives.showsCopy { copyProgress = core.arrivingCopy?.progress }
        remoteEventTopic.publish(contentsOf: directives.remoteEvents)
        remoteSnapshotTopic.publish(contentsOf: directives.remoteSnapshots)
        confirmedTopic.publish(contentsOf: directives.confirmed)
        if !directives.alarms.isEmpty {
            publish(directives.alarms)
            report(directives.alarms)
        }
        if !directives.updates.isEmpty { publish(directives.updates) }
        ephemeralTopic.publish(contentsOf: directives.ephemerals)
        #if DEBUG
            warn(of: directives.alarms)
        #endif
        resolveLogFull()
        if isCapacityAwaited, core.hasCapacity {
            isCapacityAwaited = false
            capacityTopic.publish(())
        }
        if let delay = directives.exchangeIn { set(exchangeTimer, delay) { $0.exchangeNow() } }
        if let delay = directives.requestIn { set(requestTimer, delay) { $0.sendPendingRequest() } }
        if let delay = directives.ephemeralsIn { set(ephemeralTimer, delay) { $0.sendEphemerals() } }
        if let delay = directives.seriesIn { set(seriesTimer, delay) { $0.reportDueSeries() } }
        if let delay = directives.stateIn { set(stateTimer, delay) { $0.publishPendingState() } }
        if directives.hasRound { beginRounds() }
        if directives.runsEffects { runEffects() }
        if let delay = directives.catchUpIn { catchUp(in: delay) }
        if let copy = directives.arrivedCopy { read(copy) }
        if let milestone = directives.milestone { makeDigest(of: milestone) }
        if !directives.servings.isEmpty { serve(directives.servings) }
    }

    /// Updates the observed values other than the state, if they have changed.
    private func showStatus() {
        // The underscored storage is cheaper to read: see `ShownValues`.
        if _isMember != core.engine.isSealed { isMember = core.engine.isSealed }
        if _hasEnded != core.engine.hasEnded { hasEnded = core.engine.hasEnded }
        if _isProvisional != core.engine.isProvisional { isProvisional = core.engine.isProvisional }
        if _viewNumber != core.engine.view { viewNumber = core.engine.view }
        admitGuests()
        let confirmedCount = core.engine.confirmedCount
        show(confirmedCount: confirmedCount)
        if _reachablePeerIDs != core.reachablePeerIDs { reachablePeerIDs = core.reachablePeerIDs }
        if _departureCount != core.membershipLedger.departureCount {
            departureCount = core.membershipLedger.departureCount
            departures = core.membershipLedger.departures
        }
        let peers = core.peers
        show(peers)
        reportMembership(peers)
    }

    /// True if the session is running. Reads the storage, so the caller doesn't observe `phase`.
    var isRunning: Bool { _phase == .running }

    /// Clears `lastSendError` after a successful send.
    func forgetSendError() {
        if _lastSendError != nil { lastSendError = nil }
    }

    private func showSeries() {
        seriesTurn &+= 1
        if seriesTopic.subscriberCount > 0 { seriesTopic.publish(core.series.statuses) }
    }
}

// MARK: - Status

extension SyncedSession {
    /// The unsolved mistakes and failures of this session and its transport, for an app to show.
    public var problems: [SessionProblem] { transport.problems + board.problems }

    /// Returns the status of a peer, or nil if the session doesn't know the peer.
    public func status(of peerID: String) -> SessionPeerStatus? { peers.first { $0.peerID == peerID } }

    /// Returns the delivery of one of this device's events, and its effect.
    public func delivery(of envelope: SessionSyncEnvelope<Event>) -> SessionEventDelivery {
        delivery(of: envelope.metadata.eventID)
    }

    /// Returns the delivery of one of this device's events by its ID, and its effect.
    public func delivery(of eventID: UUID) -> SessionEventDelivery {
        // Registers the caller as an observer.
        _ = (peers, deliveryTurn)
        return core.delivery(of: eventID)
    }

    /// Number of events that have changed the state and may still move. Complexity: O(unconfirmed events).
    package var unconfirmedEffectCount: Int { core.engine.unconfirmedEffectCount }

    /// Returns the sequence of the last event held without a gap from a peer or this device; 0 if none is held.
    public func heldSequence(of peerID: String) -> UInt64 { core.heldSequence(of: peerID) }
}
