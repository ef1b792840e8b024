package import MeshFoundation
package import MeshIdentity

extension SessionSyncEngine {
    /// The parts of the engine to persist. O(log).
    public var image: SessionEngineImage<State, Event> {
        SessionEngineImage(
            head: head, base: baseImage, log: log.entries.map { $0.record(of: sources[$0.slot].source) })
    }

    /// The base: the state that the log builds on, and its vector. Complexity: O(sources).
    public var baseImage: SessionBase<State> {
        SessionBase(reduced: log.base, vector: sources.vector { $0.folded }, count: log.baseCount)
    }

    /// The small part of the image. Complexity: O(sources²), for a few sources.
    public var head: SessionEngineHead<Event> { head(sideEffectsDue: sideEffectRecords(last: due.count)) }

    /// The newest `count` confirmed events whose side effects haven't been marked, in order.
    package func sideEffectRecords(last count: Int) -> [SessionConfirmedRecord<Event>] {
        due.entries.suffix(count).map {
            SessionConfirmedRecord(
                position: $0.position, record: $0.entry.record(of: sources[$0.entry.slot].source),
                outcome: $0.entry.outcome ?? .applied)
        }
    }

    package var sideEffectCount: Int { due.count }

    /// The small part of the image, for a store that keeps side effects elsewhere.
    package func head(sideEffectsDue: [SessionConfirmedRecord<Event>]) -> SessionEngineHead<Event> {
        SessionEngineHead(
            sessionID: sessionID, featureID: featureID, payloadType: payloadType,
            snapshotPayloadType: snapshotPayloadType, source: source, sequence: sources[0].held, clock: clock.latest,
            clockLease: clockLease, group: groupName, isSealed: sealed, hasEnded: ended, membership: membership,
            settledCount: announcedCount,
            cut: cutStamp,
            held: held,
            promises: sources.records.compactMap { record in
                let promises = record.promises
                guard promises.usable > .zero || !promises.pending.isEmpty else { return nil }
                return .init(source: record.source, usable: promises.usable, pending: promises.pending)
            },
            acknowledgements: sources.records.compactMap { record in
                guard !record.acknowledged.isEmpty else { return nil }
                return .init(source: record.source, held: vector(record.acknowledged), saidAt: record.lastControlStamp)
            },
            chain: confirmationChain,
            sideEffectsDue: sideEffectsDue,
            snapshotRevision: snapshotRevision,
            forked: sources.records.filter { $0.isForked && $0.isOpen }.map { $0.source },
            endedMembers: ended ? sources.records.filter { $0.hasEnded }.map { $0.source } : nil,
            view: storedStance, home: groupToRejoin, invited: membershipIntent.invited.isEmpty ? nil : invited,
            reissues: reissues.stretches.isEmpty ? nil : reissues.stretches)
    }

    private var storedStance: ViewStatement? {
        stance == ViewStatement() ? nil : stance
    }

    /// A method, because an initializer wouldn't call the observer that updates `frozenAt`.
    private mutating func restoreStance(_ head: SessionEngineHead<Event>) { stance = head.view ?? ViewStatement() }

    private func vector(_ acknowledged: [UInt64]) -> SequenceVector {
        SequenceVector(
            acknowledged.enumerated().filter { $0.element > 0 }
                .map { SourceSequence(source: sources[$0.offset].source, sequence: $0.element) })
    }

    /// Creates an engine that continues from a store. Pass the same reducer and policy as before, because the engine
    /// reduces the log again.
    ///
    /// - Parameter seed: random, different for each launch.
    /// - Throws: `SessionSyncError.tooManySources` and `outOfRange` for an image that no engine made.
    public init(
        restoring image: SessionEngineImage<State, Event>, reducer: Reducer, conflictPolicy: ConflictPolicy,
        seed: UInt64, options: SessionEngineOptions<State, Event> = .init()
    ) throws {
        var image = image
        image.head = image.head.clamped
        let head = image.head
        try head.checkNumbers()
        try image.base.checkNumbers()
        for record in image.log where record.sequence > SequenceBounds.highest {
            throw SessionSyncError.outOfRange(field: "sequence")
        }
        self.init(
            sessionID: head.sessionID, featureID: head.featureID, localPeerID: head.source.peerID,
            payloadType: head.payloadType, snapshotPayloadType: head.snapshotPayloadType,
            initialState: image.base.reduced.state, reducer: reducer, conflictPolicy: conflictPolicy,
            incarnation: head.source.incarnation, seed: seed, options: options)
        try restoreSources(image)
        groupName = head.group
        groupTag = head.group?.groupTag ?? 0
        restoreStance(head)
        setEpoch()
        groupToRejoin = head.home
        reissues = ReissueTable(head.reissues ?? [])
        membershipIntent.invited = Set(head.invited ?? [])
        sealed = head.isSealed
        ended = head.hasEnded
        isReferenceOnly = false
        snapshotRevision = head.snapshotRevision
        // The log may be newer than the head.
        let lastOwn = image.log.last { $0.source == head.source && $0.stamp.isUsable }?.stamp ?? .zero
        clock = HybridLogicalClock(latest: max(head.clock, lastOwn))
        if let last = image.log.last { clock.observe(last.stamp) }
        // Every promise lies at or below the lease or an event.
        clock = HybridLogicalClock(latest: max(clock.latest, head.clockLease))
        skipStampsOfOtherIncarnations()
        clockLease = head.clockLease.isUsable ? head.clockLease : clock.latest
        log = EventLog(base: image.base.reduced, baseCount: image.base.count)
        let (records, areHealed) = restamped(image.log)
        log.entries = try entries(records)
        log.replay(by: interpreter, sources: sources)
        settledCount = min(max(0, head.settledCount), log.entries.count)
        announcedCount = settledCount
        cutStamp = head.cut.isUsable ? head.cut : log.entries.prefix(settledCount).last?.stamp ?? .zero
        confirmationChain = head.chain
        due = DueEffects(
            stored: try head.sideEffectsDue.map { due in
                let slot = try sources.slot(adding: due.record.source)
                var entry = LogEntry(due.record, slot: slot)
                entry.outcome = due.outcome
                return ConfirmedEntry(position: due.position, entry: entry)
            })
        recountOwn()
        noteLastStamps()
        pending.replacesEverything = areHealed
        // A crash may have come after the mark was written and before the caller acted on the alarm.
        if sources[0].isForked { pending.raise(.forked(SourceSequence(source: source, sequence: sources[0].held))) }
    }

    /// Moves the clock forward by a random number of stamps below 65,536, which is at most a millisecond. This store
    /// may have lost its last commits, or be a copy. Then an earlier launch may have used the next stamps, and two
    /// events of one name and stamp couldn't be distinguished.
    private mutating func skipStampsOfOtherIncarnations() {
        let start = clock.latest.rawValue + random.next() >> 48
        clock.observe(HybridTimestamp(rawValue: start))
    }

    /// Gives new stamps to own events that a poisoned clock stamped beyond the limit, and keeps their IDs. No peer has
    /// accepted them.
    private mutating func restamped(
        _ records: [SessionRecord<Event>]
    ) -> (records: [SessionRecord<Event>], areHealed: Bool) {
        guard records.contains(where: { !$0.stamp.isUsable }) else { return (records, false) }
        let restamped = records.map { record in
            guard !record.stamp.isUsable, record.source == source else { return record }
            var record = record
            record.eventID = eventID(of: LogEntry(record, slot: 0))
            record.stamp = clock.tick(wallMilliseconds: record.causalTimestamp.wallMilliseconds)
            return record
        }
        return (restamped.sorted { ($0.stamp, $0.source, $0.sequence) < ($1.stamp, $1.source, $1.sequence) }, true)
    }

    private mutating func entries(_ records: [SessionRecord<Event>]) throws -> [LogEntry<Event>] {
        try records.map { LogEntry(upcast($0), slot: try sources.slot(adding: $0.source)) }
    }

    private mutating func restoreSources(_ image: SessionEngineImage<State, Event>) throws {
        let head = image.head
        for entry in head.membership.closed {
            let slot = try sources.slot(adding: entry.source)
            sources.close(slot, after: entry.sequence)
        }
        for entry in image.base.vector.entries {
            let slot = try sources.slot(adding: entry.source)
            sources[slot].folded = entry.sequence
        }
        for entry in head.held.entries {
            let slot = try sources.slot(adding: entry.source)
            sources[slot].held = entry.sequence
            sources[slot].persisted = entry.sequence
        }
        launchSequence = head.sequence
        sources[0].held = head.sequence
        sources[0].persisted = head.sequence
        for member in head.membership.open {
            let slot = try sources.slot(adding: member.source)
            sources.open(slot, above: member.floor, since: member.joined ?? 0)
        }
        for entry in head.membership.first { sources[try sources.slot(adding: entry.source)].first = entry.sequence }
        for promises in head.promises {
            let slot = try sources.slot(adding: promises.source)
            sources[slot].promises.usable = promises.usable.isUsable ? promises.usable : .zero
            sources[slot].promises.pending = promises.pending.filter(\.isUsable)
            sources.notePromise(of: slot)
        }
        for acknowledgements in head.acknowledgements {
            let slot = try sources.slot(adding: acknowledgements.source)
            sources[slot].lastControlStamp = acknowledgements.saidAt
            for entry in acknowledgements.held.entries {
                let known = try sources.slot(adding: entry.source)
                sources[slot].acknowledge(known, entry.sequence)
            }
        }
        for source in head.forked { sources[try sources.slot(adding: source)].isForked = true }
        for source in head.endedMembers ?? [] { sources[try sources.slot(adding: source)].hasEnded = true }
        countForkedMembers()
    }

    /// Returns an engine with the same history under a new source, after an alarm that the local source has forked. It
    /// is unsealed: it joins the group again by a copy, and issues under its new name what the copy doesn't include.
    ///
    /// Events written since this launch get new names at once, because peers may know other events under the old ones.
    /// Events of earlier launches keep theirs, even if they were written after the store was restored: nothing tells
    /// them apart. If the group only continued without this member, all names stay, so that a copy shows which of the
    /// events it has.
    ///
    /// - Parameters:
    ///   - incarnation: 32 fresh random bits, kept with the store from now on.
    ///   - seed: random.
    public func reincarnated(as incarnation: UInt32, seed: UInt64) throws -> Self {
        try renamed(
            to: SessionSource(peerID: localPeerID, incarnation: incarnation),
            beyond: groupToRejoin == nil ? launchSequence : .max, seed: seed)
    }

    /// Returns an engine with the same history for a device whose identity isn't the one that wrote its store. It joins
    /// the group as a new peer, and issues under its new name what a copy doesn't include. Event IDs stay, so no event
    /// is applied twice.
    ///
    /// - Parameters:
    ///   - source: the new identity, with 32 fresh random bits.
    ///   - seed: random.
    package func renamed(to source: SessionSource, seed: UInt64) throws -> Self {
        try renamed(to: source, beyond: sources[0].folded, seed: seed)
    }

    private func renamed(to successor: SessionSource, beyond known: UInt64, seed: UInt64) throws -> Self {
        var image = image
        image.head.source = successor
        image.log = renamed(image.log, beyond: known, to: image.head.source)
        image.head.sequence = UInt64(image.log.count { $0.source == image.head.source })
        image.head.held = SequenceVector(
            image.head.held.entries.map {
                $0.source == source
                    ? SourceSequence(source: source, sequence: min($0.sequence, max(known, sources[0].folded)))
                    : $0
            })
        image.head.reissues = reissues.without(source, beyond: known).stretches
        image.head.group = nil
        image.head.isSealed = false
        image.head.view = nil
        // A group of more than two has other members that can admit this device again.
        image.head.home = groupToRejoin ?? (openSlots.count > 2 ? groupName : nil)
        // Each source's first sequence stays, because it doesn't depend on membership.
        image.head.membership = SessionMembership(first: image.head.membership.first)
        image.head.settledCount = 0
        image.head.cut = .zero
        image.head.chain = ConfirmationChain(position: image.base.count)
        image.head.promises = []
        image.head.acknowledgements = []
        image.head.forked = []
        image.head.endedMembers = image.head.hasEnded ? [] : nil
        var engine = try Self(
            restoring: image, reducer: interpreter.reducer, conflictPolicy: interpreter.conflictPolicy, seed: seed,
            options: options)
        engine.pending.replaceEverything()
        return engine
    }

    private func renamed(
        _ records: [SessionRecord<Event>], beyond known: UInt64, to successor: SessionSource
    ) -> [SessionRecord<Event>] {
        var sequence: UInt64 = 0
        let renamed = zip(records, log.entries).compactMap { record, entry -> SessionRecord<Event>? in
            guard record.source == source, record.sequence > known else { return record }
            // A replacement matters only in the group that this engine leaves.
            if entry.isReplacement { return nil }
            sequence += 1
            var record = record
            record.eventID = eventID(of: entry)
            record.source = successor
            record.sequence = sequence
            return record
        }
        return renamed.sorted { ($0.stamp, $0.source, $0.sequence) < ($1.stamp, $1.source, $1.sequence) }
    }
}

/// The persisted parts of an engine. The rest follows from them or is requested again.
public struct SessionEngineImage<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// The small part, which may change with each call.
    package var head: SessionEngineHead<Event>
    /// The folded prefix.
    package var base: SessionBase<State>
    /// All events held above the base, in order.
    package var log: [SessionRecord<Event>]

    /// Creates an image from parts of one engine at one moment. `SessionSyncEngine` checks them on restoring.
    package init(head: SessionEngineHead<Event>, base: SessionBase<State>, log: [SessionRecord<Event>]) {
        self.head = head
        self.base = base
        self.log = log
    }
}

/// The small part of an engine's image, which may change with each call.
public struct SessionEngineHead<Event: Codable & Sendable>: Sendable, Codable {
    /// The ID of the session.
    package var sessionID: UUID
    /// The ID of the feature.
    package var featureID: String
    /// The type of the events' payloads.
    package var payloadType: String
    /// The type of the snapshots' payloads.
    package var snapshotPayloadType: String
    /// The source that the store belongs to.
    package var source: SessionSource
    /// The last sequence that this store has assigned.
    package var sequence: UInt64
    /// The hybrid clock of the store.
    package var clock: HybridTimestamp
    /// The upper bound of all promises sent without an event. A relaunch starts its clock at or above it.
    package var clockLease: HybridTimestamp
    /// The group's name; nil while the engine is in none.
    package var group: SessionSource?
    /// True if the engine belongs to its group and adopts no copies any more.
    package var isSealed: Bool
    /// True if the session has ended.
    package var hasEnded: Bool
    /// The members of the group, closed sources and first sequences.
    package var membership: SessionMembership
    /// The number of confirmed records in the log that the caller has been given.
    package var settledCount: Int
    /// The stamp below which the order of the log's events is final.
    package var cut: HybridTimestamp
    /// The last sequence of each source up to which all is held.
    package var held: SequenceVector
    /// The promises of each source.
    package var promises: [SourcePromises]
    /// The acknowledgements of each source.
    package var acknowledgements: [SourceAcknowledgements]
    /// The fingerprint of the confirmed events.
    package var chain: ConfirmationChain
    /// The confirmed events whose side effects haven't been marked as done.
    package var sideEffectsDue: [SessionConfirmedRecord<Event>]
    /// The highest revision of a snapshot sent or received.
    package var snapshotRevision: UInt64
    /// The open members that have forked. Until they are replaced, nothing is confirmed.
    package var forked: [SessionSource]
    /// The members that know of the end; nil before it.
    package var endedMembers: [SessionSource]?
    /// The member's position between views; nil while the group has never changed.
    package var view: ViewStatement?
    /// The group that has continued without this source.
    package var home: SessionSource?
    /// The peers that the user has invited.
    package var invited: [String]?
    /// The names under which events were issued again; nil if there are none.
    package var reissues: [SessionReissue]?

    /// The promises of one source.
    public struct SourcePromises: Hashable, Sendable, Codable {
        /// The source that made these promises.
        package var source: SessionSource
        /// The highest stamp of a promise whose events are all held.
        package var usable: HybridTimestamp
        /// The promises that wait for more events.
        package var pending: [SequencePromise]
    }

    /// The acknowledgements that one source has sent for every other source.
    public struct SourceAcknowledgements: Hashable, Sendable, Codable {
        /// The source that sent these acknowledgements.
        package var source: SessionSource
        /// The last sequence of each source up to which it holds everything.
        package var held: SequenceVector
        /// The stamp of the message that carried them.
        package var saidAt: HybridTimestamp
    }
}

/// A confirmed event and its position.
public struct SessionConfirmedRecord<Event: Codable & Sendable>: Sendable, Codable {
    /// The index of the event among all confirmed entries of the group, from 0.
    package var position: UInt64
    /// The event as the log holds it.
    package var record: SessionRecord<Event>
    /// The effect of the event at its place.
    package var outcome: SessionEventOutcome

    /// Creates a record with its position in the confirmed order.
    package init(position: UInt64, record: SessionRecord<Event>, outcome: SessionEventOutcome) {
        self.position = position
        self.record = record
        self.outcome = outcome
    }
}
