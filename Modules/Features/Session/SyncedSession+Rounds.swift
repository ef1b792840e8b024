import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshStorage
import MeshTransport

/// What was decided in one turn of the main actor: written together, then sent.
struct OutgoingRound<State: Codable & Sendable, Event: Codable & Sendable> {
    /// nil when nothing is to be written.
    var batch: Result<StoreBatch, any Error>?
    /// The own sequence up to which the batch has everything.
    var sequence: UInt64
    var directives: SessionDirectives<State, Event>
    var events: [SessionSyncEnvelope<Event>]
    /// Made together with the batch, so that it shows nothing that a crash could take back.
    var snapshot: SessionSyncSnapshot<State>?
    var snapshotReceivers: SnapshotReceivers
    var asksForSnapshot: Bool
}

/// What a store has not taken yet.
struct UnsavedWork<Event: Codable & Sendable> {
    var changes: SessionPersistence?
    var confirmed: [SessionConfirmedEvent<Event>] = []
}

/// Directives are carried out in rounds: collect, write, confirm, send. What happens in between waits for the next
/// round, so that one write serves everything that came while the last one was under way.
extension SyncedSession {
    /// Something may have to be written or sent.
    func wake() {
        outgoing.needsRound = true
        guard phase == .running, !outgoing.isDraining else { return }
        outgoing.isDraining = true
        // Writes must not overlap, not even after a stop and a start.
        let task = Task { [weak self, earlier = drain] in
            await earlier?.value
            while let self, let round = self.collectRound() { await self.perform(round) }
        }
        drain = task
        drainOwner.hold([task])
    }

    /// Returns when everything that waits has been handed to the transport.
    func drained() async {
        while phase == .running, outgoing.isDraining { await drain?.value }
    }

    /// One turn: nothing changes the engine between the directives, the snapshot and the image.
    private func collectRound() -> OutgoingRound<State, Event>? {
        guard !Task.isCancelled else { return nil }
        guard phase == .running, outgoing.needsRound else {
            outgoing.isDraining = false
            return nil
        }
        outgoing.needsRound = false
        var outgoing = outgoing.takeAll()
        let snapshot = outgoing.snapshotReceivers.isEmpty ? nil : engine.makeSnapshot(at: configuration.now())
        var directives = engine.takeDirectives()
        directives.confirmed = unsaved.confirmed + directives.confirmed
        unsaved.confirmed = []
        var batch: Result<StoreBatch, any Error>?
        if archive != nil, var changes = directives.persist ?? unsaved.changes {
            // After a failure nobody knows what the store has.
            if unsaved.changes != nil { changes.replacesEverything = true }
            directives.persist = changes
            batch = Result { try archive?.batch(changes, of: engine) ?? StoreBatch() }
        }
        if directives.alarms.contains(where: isOwnFork) { outgoing.events = [] }
        return OutgoingRound(
            batch: batch, sequence: engine.held[engine.source], directives: directives, events: outgoing.events,
            snapshot: snapshot, snapshotReceivers: outgoing.snapshotReceivers,
            asksForSnapshot: outgoing.asksForSnapshot)
    }

    private func perform(_ round: OutgoingRound<State, Event>) async {
        if let batch = round.batch, let changes = round.directives.persist, let writer {
            do {
                try await writer.commit(batch.get())
                unsaved.changes = nil
                if storeError != nil { storeError = nil }
            } catch {
                return putBack(round, changes, after: error)
            }
        }
        settle(round)
        await send(round)
    }

    /// The store has not taken it: nothing of the round may be seen outside. Controls and answers are made again with
    /// the next exchange, which is also when the store is tried again.
    private func putBack(
        _ round: OutgoingRound<State, Event>, _ changes: SessionPersistence, after error: any Error
    ) {
        if !Task.isCancelled {
            storeError = error
            statistics.storeFailures += 1
        }
        unsaved.changes = changes
        unsaved.confirmed = round.directives.confirmed
        outgoing.putBack(round.events)
        if round.snapshot != nil { outgoing.snapshotReceivers.merge(round.snapshotReceivers) }
        if round.asksForSnapshot { outgoing.asksForSnapshot = true }
        heed(round.directives.alarms)
        if configuration.storeFailure == .continueInMemory, !Task.isCancelled { return leaveStore() }
        scheduleExchange(.regular)
    }

    /// The store has an older session from now on. It must not be continued under the name under which this one goes on.
    private func leaveStore() {
        archive = nil
        writer = nil
        durability = .memory
        unsaved.changes = nil
        reincarnate()
        wake()
    }

    /// What was written counts now.
    private func settle(_ round: OutgoingRound<State, Event>) {
        deliveries.accept(through: round.sequence)
        if !round.directives.confirmed.isEmpty { settle(round.directives.confirmed) }
        heed(round.directives.alarms)
        refreshStatus()
    }
}

extension SyncedSession {
    private func settle(_ confirmed: [SessionConfirmedEvent<Event>]) {
        // Each access of an observed property of a generic class costs microseconds.
        statistics.confirmed += confirmed.count
        let localPeerID = engine.localPeerID
        deliveries.confirm(confirmed.map(\.envelope.metadata).filter { $0.sourcePeerID == localPeerID }.map(\.eventID))
        confirmedTopic.publish(contentsOf: confirmed)
        if configuration.onConfirmed != nil {
            for event in confirmed { effects.append(event) }
        }
        runEffects()
    }
}

// MARK: - Alarms

extension SyncedSession {
    private func isOwnFork(_ alarm: SessionAlarm) -> Bool {
        if case .forked(let place) = alarm { place.source == engine.source } else { false }
    }

    private func heed(_ alarms: [SessionAlarm]) {
        for alarm in alarms {
            if case .notAdmitted(let source) = alarm {
                // Said with every control of that peer; told once.
                guard heard[source.peerID]?.isNotAdmitted != true else { continue }
                remember(source.peerID) { $0.isNotAdmitted = true }
            }
            statistics.alarms += 1
            alarmTopic.publish(alarm)
            if isOwnFork(alarm) { reincarnate() }
        }
    }

    /// Another has written in this store's name, or it is an older copy of itself: it goes on under a new one.
    private func reincarnate() {
        guard
            let engine = try? engine.reincarnated(
                as: UInt32(truncatingIfNeeded: configuration.randomSeed() | 1), seed: configuration.randomSeed())
        else { return }
        self.engine = engine
        statistics.reincarnations += 1
        outgoing.events = []
        effects.forgetPositions()
        indexOwnEvents()
        showState()
        exchangeNow()
    }
}
