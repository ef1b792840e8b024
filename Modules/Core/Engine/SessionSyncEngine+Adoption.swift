public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Takes a copy over: its base, and my and its events above it.
    ///
    /// What this engine holds and the copy does not include is issued again under its own name, with kept ids and new
    /// stamps; unless it was there when the group was founded, in which case nothing is settled and its events stay as
    /// they are. Events of members are not issued again: their authors are here and keep them.
    ///
    /// A caller that catches up later is shown the state before until then, and told of the copy as one: `takeApplied` does
    /// not list what was in it, nor what this engine held.
    ///
    /// - Returns: false when the copy does not hold together, and for a source that has forked: first it takes another name.
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
        let told: SessionEventOutcome? = options.catchesUpLater ? .applied : nil

        guard var table = try table(of: checkpoint) else { return false }
        if let copier = table.slot(of: message.source) {
            table[copier].echo = echo
            table[copier].lastSaid = message.saidAt
            table[copier].statement = message.control.view
            for entry in message.control.held.entries {
                if let known = table.slot(of: entry.source) { table[copier].acknowledge(known, entry.sequence) }
            }
        }
        let known = sources
        let wasMember = home != nil
        sources = table
        taken = nil
        countForkedMembers()
        // The copy says what these names mean.
        launchSequence = max(launchSequence, sources[0].held)
        gaps = [:]
        let entries = checkpoint.log.compactMap { record in
            sources.slot(of: record.source).map { LogEntry(record, slot: $0, outcome: told) }
        }
        log = EventLog(
            base: checkpoint.base.reduced, baseCount: checkpoint.base.count, unreduced: entries, showing: shown)
        stance = ViewStatement(number: message.control.view?.number ?? 0)
        setGroup(message.control.group)
        home = nil
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
            if message.control.hasEnded { takeEnd(copier) }
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
                    _ = engine.take(LogEntry(record, slot: 0, outcome: told))
                }
            }
        } else {
            sources[0].first = oldSequence + 1
            sources[0].held = oldSequence
        }
        together { $0.reissue(mine, displaced, keepsStamps: keepsStamps, wasMember: wasMember) }
        together { engine in
            for record in mine where record.source != engine.source {
                guard let known = engine.sources.slot(of: record.source), engine.sources[known].isOpen,
                    // One that has joined was seen before it did, and issues again what it had written.
                    engine.sources[known].floor == .zero
                else { continue }
                _ = engine.take(LogEntry(record, slot: known, outcome: told))
            }
        }
        if !options.catchesUpLater { catchUp() }
        advance()
        return true
    }

    /// Confirmed before, and still to be acted on.
    private mutating func moved(
        _ entries: [ConfirmedEntry<Event>], from known: SourceTable
    ) throws -> [ConfirmedEntry<Event>] {
        try entries.map { due in
            let slot = try sources.slot(adding: known[due.entry.slot].source)
            return ConfirmedEntry(position: due.position, entry: due.entry.moved(to: slot))
        }
    }

    /// Under this engine's name: what the copy does not include, of this source and of strangers that are not here.
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
                // The id decides.
            } else if record.source == source {
                // Its founders had seen it, as one sees strangers, and have confirmed it.
                let isFolded = record.sequence <= sources[0].folded
                if keepsStamps || isFolded { continue }
            } else if let slot {
                if sources[slot].isOpen || record.sequence <= sources[slot].held { continue }
                // Who was let go issues its own again.
                let isOthers = sources[slot].isClosed && record.source.peerID != localPeerID
                if isOthers { continue }
            } else if wasMember, record.source.peerID != localPeerID {
                // Of a group that this engine has left; its author does, too, or is waited for there.
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
            // Of lives that have no names of their own, any may have written it.
            if !isDisplaced, record.source.incarnation != 0 {
                let name = SourceSequence(source: source, sequence: entry.sequence)
                reissues.add(SessionReissue(name: name, origin: record.place))
            }
        }
    }

    /// Of those the ones under whose names the copy has other events, written before, or after, a store was restored.
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

    /// What the copy says of each source; what is held is derived from what the copy holds, never taken over.
    ///
    /// - Returns: nil when the copy contradicts itself.
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
        var last: LogEntry<Event>?
        for record in checkpoint.log {
            guard let slot = table.slot(of: record.source) else { return nil }
            let entry = LogEntry(record, slot: slot)
            if let last, !EventLog<State, Event>.precedes(last, entry, in: table) { return nil }
            last = entry
            table[slot].held = max(table[slot].held, record.sequence)
        }
        // A copy may know more of this source than an older store does, but leaves it room to go on.
        guard table[0].held <= max(SequenceBounds.hearsay, sources[0].held) else { return nil }
        return table
    }
}

/// State and everything that is a function of the same prefix of the order.
public struct ReducedState<State: Sendable>: Sendable {
    /// What the reducer has made of the prefix.
    @usableFromInline package var state: State
    /// The last event that had an effect.
    @usableFromInline package var lastAppliedMetadata: SessionSyncMetadata?
    /// The last explicit event ids in the order, newest last: an id that comes again has no effect.
    @usableFromInline package var recentEventIDs: [UUID]

    /// The state before the first event, unless told more.
    package init(state: State, lastAppliedMetadata: SessionSyncMetadata? = nil, recentEventIDs: [UUID] = []) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.recentEventIDs = recentEventIDs
    }
}

extension ReducedState: Codable where State: Codable {}

/// A prefix of the order, folded: the state that results and how far it goes.
public struct SessionBase<State: Codable & Sendable>: Sendable, Codable {
    /// What the folded events have led to.
    package var reduced: ReducedState<State>
    /// How far the base goes with each source.
    package var vector: SequenceVector
    /// How many events it includes.
    package var count: UInt64

    /// Parts that describe one prefix: nothing is checked here, but when an engine takes it over.
    package init(reduced: ReducedState<State>, vector: SequenceVector, count: UInt64) {
        self.reduced = reduced
        self.vector = vector
        self.count = count
    }
}

/// The members and former members of a group, and the sequences from which they count.
public struct SessionMembership: Hashable, Sendable, Codable {
    /// Open members and the stamp at or below which each has authored nothing; zero for who founded.
    package var open: [Member]
    /// Sources that lost their store or were let go, with the last sequence that counts.
    package var closed: [SourceSequence]
    /// The first sequence of each source that does not begin at 1.
    package var first: [SourceSequence]

    /// Maximum number of open members. An engine refuses a record with more, and a full group takes in no newcomer.
    package static let openMax = 16

    /// A source that may author events.
    public struct Member: Hashable, Sendable, Codable {
        /// Whose events are taken.
        package var source: SessionSource
        /// At or below this stamp it has authored nothing; zero for those who founded the group.
        package var floor: HybridTimestamp
        /// The view by which it became a member; nil for those of the first.
        package var joined: UInt64?

        /// A member from `floor` on.
        package init(source: SessionSource, floor: HybridTimestamp = .zero, joined: UInt64? = nil) {
            self.source = source
            self.floor = floor
            self.joined = joined
        }
    }

    /// Nobody, unless told otherwise.
    package init(open: [Member] = [], closed: [SourceSequence] = [], first: [SourceSequence] = []) {
        self.open = open
        self.closed = closed
        self.first = first
    }
}

/// The whole session for a device that joins: base, log and members. Travels beside the state of a snapshot.
public struct SessionCheckpoint<State: Codable & Sendable, Event: Codable & Sendable>: Sendable, Codable {
    /// What every message of the sender says.
    package var control: SessionControl
    /// Who is in the group.
    package var membership: SessionMembership
    /// The folded prefix.
    package var base: SessionBase<State>
    /// Everything held above the base, in order.
    package var log: [SessionRecord<Event>]
    /// How many records of the log are confirmed.
    package var settledCount: Int
    /// Below this stamp the order of what the log holds is settled.
    package var cut: HybridTimestamp
    /// The fingerprint of the confirmed events, for comparison with others.
    package var chain: ConfirmationChain

    /// Parts of one engine at one moment. An engine checks them when it takes the copy over.
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
