import Foundation
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshStorage
import MeshTransport

/// What waits for the next round, coalesced but for the events.
struct OutgoingQueue {
    /// Own events in order, with the bytes that the store has too.
    var events: [AnySessionSyncEnvelope] = []
    var snapshotReceivers = SnapshotReceivers()
    var asksForSnapshot = false
    var copyMessages: [CopyMessage] = []
    var ephemeralNames: Set<String> = []
    /// Of those that have left before.
    var repeatedNames: Set<String> = []
    var seriesMessages: [SeriesMessage] = []
    var needsRound = false

    mutating func takeAll() -> Self {
        defer { self = Self() }
        return self
    }

    mutating func putBack(_ unsent: some Collection<AnySessionSyncEnvelope>) {
        events.insert(contentsOf: unsent, at: 0)
    }
}

/// Who is to be sent the state: each peer once, however often it asks.
struct SnapshotReceivers {
    var isEverybody = false
    var peers: Set<SessionPeer> = []

    var isEmpty: Bool { !isEverybody && peers.isEmpty }

    mutating func merge(_ other: SnapshotReceivers) {
        isEverybody = isEverybody || other.isEverybody
        peers.formUnion(other.peers)
    }
}

/// What a store has not taken yet.
struct UnsavedWork<Event: Codable & Sendable> {
    var changes: SessionPersistence?
    var confirmed: [SessionConfirmedEvent<Event>] = []
}

/// What was decided up to one moment: written together, then sent.
struct OutgoingRound<State: Codable & Sendable, Event: Codable & Sendable> {
    /// nil when nothing is to be written.
    var batch: Result<StoreBatch, any Error>?
    /// The same of series; one that is tried again may be in the store.
    var seriesBatch: Result<StoreBatch, any Error>?
    var isSeriesRetry: Bool
    /// The own sequence up to which the batch has everything.
    var sequence: UInt64
    var directives: SessionDirectives<State, Event>
    var events: [AnySessionSyncEnvelope]
    /// Made together with the batch, so that it shows nothing that a crash could take back.
    var snapshot: SessionSyncSnapshot<State>?
    var snapshotReceivers: SnapshotReceivers
    var asksForSnapshot: Bool
    var copyMessages: [CopyMessage]
    var ephemerals: [EphemeralMessage]
    var seriesMessages: [SeriesMessage]
}

/// Rounds: taken, written, settled, sent. What happens in between waits for the next one, so that one write serves
/// everything that came while the last one was under way.
extension SessionCore {
    /// Whether to take it costs as much as the whole log.
    var isRoundLarge: Bool {
        engine.logCount > 1024 && (engine.directivesHaveEverything || unsaved.changes != nil)
    }

    /// Nothing changes the engine between the directives, the snapshot and the batch.
    /// - Returns: nil when there is nothing to do.
    mutating func takeRound() -> OutgoingRound<State, Event>? {
        guard isRunning, outgoing.needsRound else { return nil }
        var outgoing = outgoing.takeAll()
        if engine.isBehind {
            // A state goes out when it tells of all that is held.
            self.outgoing.snapshotReceivers = outgoing.snapshotReceivers
            outgoing.snapshotReceivers = SnapshotReceivers()
        }
        let snapshot = outgoing.snapshotReceivers.isEmpty ? nil : engine.makeSnapshot(at: moment.now)
        if snapshot != nil, statistics.snapshotsSent == 0 { checkStateCoding() }
        if outgoing.snapshotReceivers.isEverybody { told = (engine.held, moment.now) }
        var decided = hotPath.takeDirectives(&engine)
        decided.confirmed = unsaved.confirmed + decided.confirmed
        unsaved.confirmed = []
        var batch: Result<StoreBatch, any Error>?
        if archive != nil, var changes = decided.persist ?? unsaved.changes {
            // After a failure nobody knows what the store has.
            if unsaved.changes != nil { changes.replacesEverything = true }
            decided.persist = changes
            if changes.movesBase { checkStateCoding() }
            batch = Result { try archive?.batch(changes, of: engine) ?? StoreBatch() }
        }
        let isSeriesRetry = series.isRetry
        let seriesBatch = series.hasUnwritten ? Result { try series.takeBatch() } : nil
        if decided.alarms.contains(where: isOwnFork) { outgoing.events = [] }
        let ephemerals = takeEphemeralMessages(outgoing.ephemeralNames, outgoing.repeatedNames)
        if !ephemerals.isEmpty { tellSeriesAlong(in: &outgoing) }
        return OutgoingRound(
            batch: batch, seriesBatch: seriesBatch, isSeriesRetry: isSeriesRetry, sequence: engine.held[engine.source],
            directives: decided, events: outgoing.events,
            snapshot: snapshot, snapshotReceivers: outgoing.snapshotReceivers,
            asksForSnapshot: outgoing.asksForSnapshot, copyMessages: outgoing.copyMessages,
            ephemerals: ephemerals, seriesMessages: outgoing.seriesMessages)
    }

    /// What was written counts now.
    mutating func settle(_ round: OutgoingRound<State, Event>) {
        if round.batch != nil { unsaved.changes = nil }
        if round.seriesBatch != nil { settleSeries() }
        deliveries.accept(through: round.sequence)
        confirm(round.directives.confirmed)
        heed(round.directives.alarms)
        if engine.hasMoreConfirmed { wake() }
        compareStates()
        directives.showsStatus = true
        directives.showsDeliveries = true
    }

    /// The store has not taken it: nothing of the round may be seen outside. Controls and answers are made again with
    /// the next exchange, which is also when the store is tried again.
    /// - Parameter leavesStore: the session goes on in memory.
    mutating func putBack(_ round: OutgoingRound<State, Event>, leavesStore: Bool) {
        unsaved.changes = round.directives.persist
        unsaved.confirmed = round.directives.confirmed
        outgoing.putBack(round.events)
        if round.snapshot != nil { outgoing.snapshotReceivers.merge(round.snapshotReceivers) }
        if round.asksForSnapshot { outgoing.asksForSnapshot = true }
        if round.seriesBatch != nil { series.putBack() }
        heed(round.directives.alarms)
        if leavesStore { leaveStore() } else { scheduleExchange(.regular) }
    }

    /// The store has an older session from now on. It must not be continued under the name under which this one goes on.
    mutating func leaveStore() {
        archive = nil
        unsaved.changes = nil
        series.leaveStore()
        reincarnate()
        wake()
    }

    private mutating func confirm(_ confirmed: [SessionConfirmedEvent<Event>]) {
        guard !confirmed.isEmpty else { return }
        statistics.confirmed += confirmed.count
        let own = confirmed.map(\.envelope).filter { $0.metadata.sourcePeerID == engine.localPeerID }
        for event in confirmed where event.envelope.metadata.sourcePeerID == engine.localPeerID {
            deliveries.confirm(event.envelope.metadata.eventID, isRejected: event.outcome == .rejected)
        }
        if samples.count > 0 { samples.count -= min(samples.count, own.count { configuration.isHighRate($0.payload) }) }
        directives.confirmed += confirmed
        updates.record(confirmed)
        if configuration.onConfirmed != nil {
            for event in confirmed { effects.append(event) }
        }
        runEffects()
    }

    // MARK: - Sending

    /// The last own sequence that may be under way: a member that reads slowly must not lose what its transport cannot
    /// keep. Members that are away do not count; they get from the log what they lack.
    var windowEnd: UInt64 {
        acknowledgedByReachableMembers.min().map { $0 + min(Self.windowMax, .max - $0) } ?? .max
    }

    /// Half of what a transport keeps for a subscriber.
    private static var windowMax: UInt64 { 2048 }

    /// Whether what is said here is for that peer.
    func mayKnow(_ peer: SessionPeer) -> Bool { configuration.audience == .everyPeer || engine.hears(peer.id) }

    /// Whom to send what is for all. nil is everybody: before the group is for good, and where the transport connects
    /// nobody who may not know.
    /// - Parameter isKept: the transport keeps it for peers that it does not know yet.
    func audience(of known: [SessionPeer], isKept: Bool) -> [SessionPeer?] {
        guard configuration.audience == .members, engine.isSealed else { return [nil] }
        let members = known.filter { engine.hears($0.id) }
        return isKept || members.count < known.count ? members : [nil]
    }

    /// The state with a copy of the whole session.
    mutating func makeCopy(_ checkpoint: [UInt8], _ metadata: SessionSyncMetadata) throws -> AnySessionSyncSnapshot {
        catchUp()
        var metadata = metadata
        metadata.causalTimestamp = moment.now
        let store = engine.store
        var snapshot = try AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata, revision: engine.allocateOutgoingSnapshotRevision(), state: store.state,
                peerSequenceVector: store.lastSequenceByPeerID))
        snapshot.checkpoint = checkpoint
        return snapshot
    }

    // MARK: - Alarms

    mutating func tell(_ alarm: SessionAlarm) {
        statistics.alarms += 1
        directives.alarms.append(alarm)
    }

    private func isOwnFork(_ alarm: SessionAlarm) -> Bool {
        if case .forked(let place) = alarm { place.source == engine.source } else { false }
    }

    private mutating func heed(_ alarms: [SessionAlarm]) {
        for alarm in alarms {
            if case .notAdmitted(let source) = alarm, source != engine.source {
                // Said with every control of that peer; told once.
                guard heard[source.peerID]?.isNotAdmitted != true else { continue }
                remember(source.peerID) { $0.isNotAdmitted = true }
            }
            if case .fenced(let view) = alarm { recordOwnDeparture(view: view) }
            tell(alarm)
            // Who wanted to leave has left.
            if isOwnFork(alarm), !engine.isLeaving { reincarnate() }
        }
    }

    /// Another has written in this store's name, or it is an older copy of itself: it goes on under a new one.
    private mutating func reincarnate() {
        catchUp()
        guard
            let engine = try? engine.reincarnated(
                as: UInt32(truncatingIfNeeded: configuration.randomSeed() | 1), seed: configuration.randomSeed())
        else { return }
        self.engine = engine
        statistics.reincarnations += 1
        outgoing.events = []
        effects.forgetPositions()
        indexOwnEvents()
        directives.showsState = true
        exchangeNow()
    }
}
