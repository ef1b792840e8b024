import Foundation
import MeshEngine
import MeshIdentity
import MeshSeries
import MeshStorage
import MeshTransport

// Rounds: take, write, confirm, send (Convergence.md, rules 3 and 17: persisted before it is sent). All decisions up to
// one moment are written in one batch. Only then does the session send its messages and report its confirmations.
// Work that comes meanwhile waits for the next round, so one write serves all of it. After a failed write the round is
// put back, and nothing of it was visible outside.
// Docs/Internals/Glossary.md defines the terms.

/// The work that waits for the next round, which adds the newest state and the newest shown values.
struct OutgoingQueue {
    /// Own events in order, with the bytes that the store gets too.
    var events: [AnySessionSyncEnvelope] = []
    var snapshotReceivers = SnapshotReceivers()
    var requestsSnapshot = false
    var copyMessages: [CopyMessage] = []
    var ephemeralNames: Set<String> = []
    /// Names of values that are sent again.
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

/// The receivers of the state: each peer once, no matter how often it asks.
struct SnapshotReceivers {
    var includesEveryPeer = false
    var peers: Set<SessionPeer> = []

    var isEmpty: Bool { !includesEveryPeer && peers.isEmpty }

    mutating func merge(_ other: SnapshotReceivers) {
        includesEveryPeer = includesEveryPeer || other.includesEveryPeer
        peers.formUnion(other.peers)
    }
}

/// Changes that the store hasn't accepted yet.
struct UnsavedWork<Event: Codable & Sendable> {
    var changes: SessionPersistence?
    var confirmed: [SessionConfirmedEvent<Event>] = []
}

/// The decisions up to one moment, which are written together and then sent.
struct OutgoingRound<State: Codable & Sendable, Event: Codable & Sendable> {
    /// The batch of events; nil if there is nothing to write.
    var batch: Result<StoreBatch, any Error>?
    /// The batch of series; nil if there is nothing to write. A retried batch may already be in the store.
    var seriesBatch: Result<StoreBatch, any Error>?
    var isSeriesRetry: Bool
    /// The change of `DeliveryLedger` up to which the batch is complete.
    var deliveryChange: UInt64
    var directives: SessionDirectives<State, Event>
    var events: [AnySessionSyncEnvelope]
    /// The state, taken together with the batch, so that a crash can't take back anything it shows.
    var snapshot: SessionSyncSnapshot<State>?
    var snapshotReceivers: SnapshotReceivers
    var requestsSnapshot: Bool
    var copyMessages: [CopyMessage]
    var ephemerals: [EphemeralMessage]
    var seriesMessages: [SeriesMessage]
}

/// Taking, finishing and putting back rounds; the top of this file has the steps.
extension SessionCore {
    /// True if taking the round costs as much as listing the whole log.
    var isRoundLarge: Bool {
        engine.logCount > 1024 && (engine.directivesHaveEverything || unsaved.changes != nil)
    }

    /// Takes everything that waits. Directives, snapshot and batch show the engine at one moment.
    /// - Returns: nil if there is nothing to do.
    mutating func takeRound() -> OutgoingRound<State, Event>? {
        guard isRunning, outgoing.needsRound else { return nil }
        exchangeWithShownValues()
        var outgoing = outgoing.takeAll()
        if engine.isBehind {
            // Don't send a state that lacks held events.
            self.outgoing.snapshotReceivers = outgoing.snapshotReceivers
            outgoing.snapshotReceivers = SnapshotReceivers()
        }
        let snapshot = outgoing.snapshotReceivers.isEmpty ? nil : engine.makeSnapshot(at: moment.now)
        if snapshot != nil, statistics.snapshotsSent == 0 { checkStateCoding() }
        if outgoing.snapshotReceivers.includesEveryPeer { lastPublished = (engine.held, moment.now) }
        var decided = hotPath.takeDirectives(&engine)
        decided.confirmed = unsaved.confirmed + decided.confirmed
        unsaved.confirmed = []
        var batch: Result<StoreBatch, any Error>?
        if archive != nil, var changes = decided.persist ?? unsaved.changes {
            // After a failure the store's contents are unknown.
            if unsaved.changes != nil { changes.replacesEverything = true }
            decided.persist = changes
            if changes.movesBase { checkStateCoding() }
            batch = Result { try archive?.batch(changes, of: engine) ?? StoreBatch() }
        }
        let isSeriesRetry = series.isRetry
        let seriesBatch = series.hasUnwritten ? Result { try series.nextBatch() } : nil
        if decided.alarms.contains(where: isOwnFork) { outgoing.events = [] }
        let ephemerals = takeEphemeralMessages(outgoing.ephemeralNames, outgoing.repeatedNames)
        if !ephemerals.isEmpty { addDueSeries(to: &outgoing) }
        return OutgoingRound(
            batch: batch, seriesBatch: seriesBatch, isSeriesRetry: isSeriesRetry,
            deliveryChange: deliveries.changeCount, directives: decided, events: outgoing.events,
            snapshot: snapshot, snapshotReceivers: outgoing.snapshotReceivers,
            requestsSnapshot: outgoing.requestsSnapshot, copyMessages: outgoing.copyMessages,
            ephemerals: ephemerals, seriesMessages: outgoing.seriesMessages)
    }

    /// Makes a round's results effective after it was written.
    mutating func finish(_ round: OutgoingRound<State, Event>) {
        if round.batch != nil { unsaved.changes = nil }
        if round.seriesBatch != nil { finishSeriesWrite() }
        deliveries.accept(through: round.deliveryChange)
        confirm(round.directives.confirmed)
        handle(round.directives.alarms)
        if engine.hasMoreConfirmed { wake() }
        compareStates()
        directives.showsStatus = true
        directives.showsDeliveries = true
    }

    /// Takes back a round that the store didn't accept, so that nothing of it becomes visible. Controls and answers are
    /// made again with the next exchange, which also tries the store again.
    /// - Parameter leavesStore: true if the session continues in memory.
    mutating func putBack(_ round: OutgoingRound<State, Event>, leavesStore: Bool) {
        unsaved.changes = round.directives.persist
        unsaved.confirmed = round.directives.confirmed
        outgoing.putBack(round.events)
        if round.snapshot != nil { outgoing.snapshotReceivers.merge(round.snapshotReceivers) }
        if round.requestsSnapshot { outgoing.requestsSnapshot = true }
        if round.seriesBatch != nil { series.batchFailed() }
        handle(round.directives.alarms)
        if leavesStore { leaveStore() } else { scheduleExchange(.regular) }
    }

    /// Continues in memory under a new incarnation: the store keeps an older state of the present one.
    mutating func leaveStore() {
        archive = nil
        unsaved.changes = nil
        series.switchToEmptyStore()
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

    /// The last own sequence that may be in flight. Bounds what a slow member's transport has to hold. Absent members
    /// don't count: they get missing events from the log.
    var windowEnd: UInt64 {
        acknowledgedByReachableMembers.min().map { $0 + min(Self.windowMax, .max - $0) } ?? .max
    }

    /// Maximum number of own events in flight: half of the events that a transport keeps for a subscriber.
    private static var windowMax: UInt64 { 2048 }

    /// Returns true if that peer may get this session's messages.
    func isInAudience(_ peer: SessionPeer) -> Bool { configuration.audience == .everyPeer || engine.hears(peer.id) }

    /// Returns the receivers of a message to the whole audience. `[nil]` stands for every peer. It is used if the
    /// audience is `.everyPeer`, before the group is sealed, and for a message that isn't kept while all connected
    /// peers are members.
    /// - Parameter isKept: true if the transport keeps the message for peers that it doesn't know yet.
    func audience(of known: [SessionPeer], isKept: Bool) -> [SessionPeer?] {
        guard configuration.audience == .members, engine.isSealed else { return [nil] }
        let members = known.filter { engine.hears($0.id) }
        return isKept || members.count < known.count ? members : [nil]
    }

    /// Makes a snapshot with a copy of the complete session.
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

    mutating func raise(_ alarm: SessionAlarm) {
        statistics.alarms += 1
        directives.alarms.append(alarm)
    }

    private func isOwnFork(_ alarm: SessionAlarm) -> Bool {
        if case .forked(let place) = alarm { place.source == engine.source } else { false }
    }

    private mutating func handle(_ alarms: [SessionAlarm]) {
        for alarm in alarms {
            if case .notAdmitted(let source) = alarm, source != engine.source {
                // The engine raises it with every control of that peer. Report it once.
                guard heard[source.peerID]?.isNotAdmitted != true else { continue }
                remember(source.peerID) { $0.isNotAdmitted = true }
            }
            if case .fenced(let view) = alarm { recordOwnDeparture(view: view) }
            raise(alarm)
            // A member that wanted to leave stays out.
            if isOwnFork(alarm), !engine.isLeaving { reincarnate() }
        }
    }

    /// Takes a new incarnation: another engine has used this source, or this store is an older copy of itself.
    private mutating func reincarnate() {
        catchUp()
        guard
            let engine = try? engine.reincarnated(
                as: UInt32(truncatingIfNeeded: configuration.randomSeed() | 1), seed: configuration.randomSeed())
        else { return }
        self.engine = engine
        statistics.reincarnations += 1
        outgoing.events = []
        effects.beginHistory()
        indexOwnEvents()
        directives.showsState = true
        exchangeNow()
    }
}
