public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Adopts a copy (rule 7 of Docs/Internals/Convergence.md): takes its base and log, and adds the events that this
    /// engine held and that the copy lacks.
    ///
    /// Events that the copy lacks are issued again under this engine's name, with kept IDs and new stamps. At the
    /// founding of a group no place is final yet, so events keep their stamps. Events of members aren't issued again,
    /// because their authors keep them.
    ///
    /// With `catchesUpLater`, `state` stays the earlier one until the caller has caught up. `takeApplied` lists neither
    /// the copy's events nor those that this engine held.
    ///
    /// - Returns: false if the copy is inconsistent, or if this source has forked and must take another name first.
    mutating func adopt(
        _ checkpoint: SessionCheckpoint<State, Event>, _ message: EngineMessage<State, Event>, _ slot: Int
    ) throws -> Bool {
        guard !sources[0].isForked, let floor = checkpoint.membership.open.first(where: { $0.source == source })?.floor,
            checkpoint.membership.open.contains(where: { $0.source == message.source })
        else { return false }
        let mine = log.entries.map { $0.record(of: sources[$0.slot].source) }
        let oldSequence = sources[0].held
        let echo = sources[slot].echo
        let shown = state
        let initialOutcome: SessionEventOutcome? = options.catchesUpLater ? .applied : nil

        guard var table = try table(of: checkpoint) else { return false }
        if let copier = table.slot(of: message.source) {
            table[copier].echo = echo
            table[copier].lastControlStamp = message.stamp
            table[copier].statement = message.control.view
            for entry in message.control.held.entries {
                if let known = table.slot(of: entry.source) { table[copier].acknowledge(known, entry.sequence) }
            }
        }
        let known = sources
        let wasMember = groupToRejoin != nil
        sources = table
        snapshotBase = nil
        countForkedMembers()
        // Own sequences up to this one name events of the copy.
        launchSequence = max(launchSequence, sources[0].held)
        gaps = [:]
        let entries = checkpoint.log.compactMap { record in
            sources.slot(of: record.source).map { LogEntry(record, slot: $0, outcome: initialOutcome) }
        }
        log = EventLog(
            base: checkpoint.base.reduced, baseCount: checkpoint.base.count, unreduced: entries, showing: shown)
        stance = ViewStatement(number: message.control.view?.number ?? 0)
        setGroup(message.control.group)
        groupToRejoin = nil
        settledCount = checkpoint.settledCount
        announcedCount = checkpoint.settledCount
        cutStamp = checkpoint.cut
        confirmationChain = checkpoint.chain
        comparison = StateComparison()
        due = DueEffects(stored: try moved(Array(due.entries), from: known))
        pending.replaceEverything()
        seal()
        if let copier = sources.slot(of: message.source) {
            observe(message.promise?.stamp ?? .zero, of: copier)
            observe(floor, of: copier)
            if message.control.hasEnded { handleEnd(from: copier) }
        }
        for entry in entries { observe(entry.stamp, of: entry.slot) }
        recountOwn()
        noteLastStamps()

        for stretch in message.control.reissues ?? [] { reissues.add(stretch) }
        let keepsStamps = floor == .zero
        let displaced = displaced(mine)
        if keepsStamps {
            together { engine in
                for record in mine where record.source == engine.source && !displaced.contains(record.place) {
                    _ = engine.take(LogEntry(record, slot: 0, outcome: initialOutcome))
                }
            }
        } else {
            // If this store is an older one, the copy may hold more of this source.
            sources[0].held = max(sources[0].held, oldSequence)
            sources[0].first = sources[0].held + 1
        }
        together { $0.reissue(mine, displaced, keepsStamps: keepsStamps, wasMember: wasMember) }
        together { engine in
            for record in mine where record.source != engine.source {
                guard let known = engine.sources.slot(of: record.source), engine.sources[known].isOpen,
                    // A source with a floor wrote these events before it joined, and issues them again itself.
                    engine.sources[known].floor == .zero
                else { continue }
                _ = engine.take(LogEntry(record, slot: known, outcome: initialOutcome))
            }
        }
        if !options.catchesUpLater { catchUp() }
        advance()
        return true
    }

    /// Moves confirmed entries that still wait for their side effects to slots of the new table.
    private mutating func moved(
        _ entries: [ConfirmedEntry<Event>], from known: SourceTable
    ) throws -> [ConfirmedEntry<Event>] {
        try entries.map { due in
            let slot = try sources.slot(adding: known[due.entry.slot].source)
            return ConfirmedEntry(position: due.position, entry: due.entry.moved(to: slot))
        }
    }

    /// Issues again, under this engine's name, events that the copy lacks: those of this source, and those of sources
    /// that can't send them to the group themselves.
    private mutating func reissue(
        _ mine: [SessionRecord<Event>], _ displaced: Set<SourceSequence>, keepsStamps: Bool, wasMember: Bool
    ) {
        guard !mine.isEmpty else { return }
        var included = Set<UUID>()
        for entry in log.entries { included.insert(eventID(of: entry)) }
        for record in mine {
            if case .replacement = record.content { continue }
            let slot = sources.slot(of: record.source)
            let isDisplaced = displaced.contains(record.place)
            if isDisplaced {
                // Only the ID, below, tells if the copy has the event.
            } else if record.source == source {
                // The founders had seen these events before this source joined, and have confirmed them.
                let isFolded = record.sequence <= sources[0].folded
                if keepsStamps || isFolded { continue }
            } else if let slot {
                if sources[slot].isOpen || record.sequence <= sources[slot].held { continue }
                // A closed source issues its own events again.
                let isOthers = sources[slot].isClosed && record.source.peerID != localPeerID
                if isOthers { continue }
            } else if wasMember, record.source.peerID != localPeerID {
                // The event is of a group that this engine has left. Its author issues it again, or that group waits
                // for the author.
                continue
            }
            if !isDisplaced, isIncludedOtherwise(record.place) { continue }
            let id =
                record.eventID
                ?? interpreter.metadata(
                    of: LogEntry(record, slot: 0).header, source: record.source
                ).eventID
            if included.contains(id) { continue }
            let entry = author(
                record.content, eventID: id,
                causalTimestamp: record.causalTimestamp, monotonicTimestamp: record.monotonicTimestamp)
            // With incarnation 0, the name doesn't tell which launch wrote the event.
            if !isDisplaced, record.source.incarnation != 0 {
                let name = SourceSequence(source: source, sequence: entry.sequence)
                reissues.add(SessionReissue(name: name, origin: record.place))
            }
        }
    }

    /// The places of records at which the copy has another event, because a store was restored.
    private func displaced(_ mine: [SessionRecord<Event>]) -> Set<SourceSequence> {
        guard !mine.isEmpty else { return [] }
        var known: [SourceSequence: HybridTimestamp] = [:]
        for entry in log.entries {
            known[SourceSequence(source: sources[entry.slot].source, sequence: entry.sequence)] = entry.stamp
        }
        return Set(mine.filter { record in known[record.place].map { $0 != record.stamp } ?? false }.map(\.place))
    }

    func eventID(of entry: LogEntry<Event>) -> UUID {
        entry.eventID ?? interpreter.metadata(of: entry.header, in: sources).eventID
    }

    /// The table of sources according to the copy. Held sequences follow from the copy's base and log. The
    /// acknowledgements of the copy's author don't count.
    ///
    /// - Returns: nil if the copy contradicts itself.
    private func table(of checkpoint: SessionCheckpoint<State, Event>) throws -> SourceTable? {
        var table = SourceTable(local: source)
        let membership = checkpoint.membership
        for entry in membership.closed {
            let slot = try table.slot(adding: entry.source)
            table.close(slot, after: entry.sequence)
        }
        for entry in checkpoint.base.vector.entries { _ = try table.slot(adding: entry.source) }
        for record in checkpoint.log { _ = try table.slot(adding: record.source) }
        for member in membership.open {
            let slot = try table.slot(adding: member.source)
            table.open(slot, above: member.floor, since: member.joined ?? 0)
        }
        for entry in membership.first where entry.sequence > 0 {
            let slot = try table.slot(adding: entry.source)
            table[slot].first = entry.sequence
            table[slot].held = entry.sequence - 1
        }
        for entry in checkpoint.base.vector.entries {
            guard let slot = table.slot(of: entry.source) else { continue }
            table[slot].folded = entry.sequence
            table[slot].held = max(table[slot].held, entry.sequence)
        }
        guard fill(&table, with: checkpoint.log) else { return nil }
        // A copy may hold more of this source than an older store does, but must leave numbers for its next events.
        guard table[0].held <= max(SequenceBounds.hearsay, sources[0].held) else { return nil }
        return table
    }

    /// Raises the held sequences by the events of a copy's log.
    ///
    /// - Returns: false unless the log is in order and has every event of a source from the base, or from the source's
    ///   first sequence, up to its last. A store refuses to read a log with a hole. A source that was seen before it
    ///   joined may have some events below its first sequence.
    private func fill(_ table: inout SourceTable, with log: [SessionRecord<Event>]) -> Bool {
        var sequences = [[UInt64]](repeating: [], count: table.records.count)
        var last: LogEntry<Event>?
        for record in log {
            guard let slot = table.slot(of: record.source) else { return false }
            let entry = LogEntry(record, slot: slot)
            if let last, !EventLog<State, Event>.precedes(last, entry, in: table) { return false }
            last = entry
            sequences[slot].append(record.sequence)
        }
        for slot in table.indices {
            var place = table[slot].folded
            // The stamps of a source may fall while it isn't a member, so the log needn't be in the order of sequences.
            for sequence in sequences[slot].sorted() {
                let isNext = sequence == table[slot].held + 1
                guard sequence > place, isNext || sequence <= table[slot].held else { return false }
                guard table.maySkip(to: sequence, from: place) else { return false }
                place = sequence
                table[slot].held = max(table[slot].held, sequence)
            }
            guard table.maySkip(to: table[slot].first, from: place) else { return false }
        }
        return true
    }
}

/// The result of reducing a prefix of the order: the state, the last event that had an effect, and recent event IDs.
public struct ReducedState<State: Sendable>: Sendable {
    /// The state after the prefix.
    @usableFromInline package var state: State
    /// The last event that had an effect.
    @usableFromInline package var lastAppliedMetadata: SessionSyncMetadata?
    /// The latest explicit event IDs in the order, newest last. Another event with one of these IDs has no effect.
    @usableFromInline package var recentEventIDs: [UUID]

    /// Creates a reduced state, by default the one before the first event.
    package init(state: State, lastAppliedMetadata: SessionSyncMetadata? = nil, recentEventIDs: [UUID] = []) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.recentEventIDs = recentEventIDs
    }
}

extension ReducedState: Codable where State: Codable {}

/// A folded prefix of the order: its state and its extent.
public struct SessionBase<State: Codable & Sendable>: Sendable, Codable {
    /// The state that the folded events led to.
    package var reduced: ReducedState<State>
    /// The last sequence of each source that the base includes.
    package var vector: SequenceVector
    /// The number of events that the base includes.
    package var count: UInt64

    /// Creates a base from parts that describe one prefix. The engine that adopts it checks them.
    package init(reduced: ReducedState<State>, vector: SequenceVector, count: UInt64) {
        self.reduced = reduced
        self.vector = vector
        self.count = count
    }
}

/// The members and former members of a group, and first sequences of sources.
public struct SessionMembership: Hashable, Sendable, Codable {
    /// The open members, each with its floor.
    package var open: [Member]
    /// Sources that lost their store or were closed by a view, with the last sequence that counts.
    package var closed: [SourceSequence]
    /// The first sequence of each source that doesn't start at 1.
    package var first: [SourceSequence]

    /// Maximum number of open members. An engine refuses a record with more, and a full group admits no newcomer.
    package static let openMax = 16
    /// Maximum number of sequences that a source may skip after events that are held, far more than it may have
    /// unconfirmed. A store fills them with empty entries.
    package static let skipMax: UInt64 = 1 << 20

    /// An open member, whose events are accepted.
    public struct Member: Hashable, Sendable, Codable {
        /// The source whose events are accepted.
        package var source: SessionSource
        /// The stamp at or below which it has written nothing that counts; zero for the group's founders.
        package var floor: HybridTimestamp
        /// The view by which it became a member; nil for members of the first.
        package var joined: UInt64?

        /// Creates a member with a floor.
        package init(source: SessionSource, floor: HybridTimestamp = .zero, joined: UInt64? = nil) {
            self.source = source
            self.floor = floor
            self.joined = joined
        }
    }

    /// Creates a membership, by default without members.
    package init(open: [Member] = [], closed: [SourceSequence] = [], first: [SourceSequence] = []) {
        self.open = open
        self.closed = closed
        self.first = first
    }
}

/// A complete session for a device that joins: base, log and members. Travels with the state of a snapshot.
public struct SessionCheckpoint<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// The control that every message of the sender carries.
    package var control: SessionControl
    /// The members of the group, closed sources and first sequences.
    package var membership: SessionMembership
    /// The folded prefix.
    package var base: SessionBase<State>
    /// All events held above the base, in order.
    package var log: [SessionRecord<Event>]
    /// The number of confirmed records in the log.
    package var settledCount: Int
    /// The stamp below which the order of the log's events is final.
    package var cut: HybridTimestamp
    /// The fingerprint of the confirmed events, for comparison with other members.
    package var chain: ConfirmationChain

    /// Creates a checkpoint from parts of one engine at one moment. The engine that adopts it checks them.
    package init(
        control: SessionControl, membership: SessionMembership, base: SessionBase<State>, log: [SessionRecord<Event>],
        settledCount: Int, cut: HybridTimestamp, chain: ConfirmationChain
    ) {
        self.control = control
        self.membership = membership
        self.base = base
        self.log = log
        self.settledCount = settledCount
        self.cut = cut
        self.chain = chain
    }
}
