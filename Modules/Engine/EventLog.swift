public import MeshIdentity

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Events in their total order above a base, and the state after them.
///
/// The order is (stamp, source, sequence). An event that comes late is inserted at its place: the state goes back to
/// the last checkpoint before it and the later events are reduced again. There is a checkpoint every 32 events; of more
/// than 32 checkpoints, every second one of the older half is dropped, so that old places cost more and memory less.
@usableFromInline
struct EventLog<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The state after the first `count` entries.
    @usableFromInline
    struct Mark: Sendable {
        @usableFromInline var count: Int
        @usableFromInline var reduced: ReducedState<State>

        @inlinable
        init(count: Int, reduced: ReducedState<State>) {
            self.count = count
            self.reduced = reduced
        }
    }

    @usableFromInline var entries: [LogEntry<Event>] = []
    /// The state after all entries.
    @usableFromInline var current: ReducedState<State>
    /// The first one is the base, of count 0.
    @usableFromInline var marks: [Mark]
    /// How many events the base includes.
    @usableFromInline var baseCount: UInt64

    @inlinable static var markInterval: Int { 32 }
    @inlinable static var marksMax: Int { 32 }

    @inlinable
    init(base: ReducedState<State>, baseCount: UInt64 = 0) {
        current = base
        marks = [Mark(count: 0, reduced: base)]
        self.baseCount = baseCount
    }

    @inlinable
    var base: ReducedState<State> { marks[0].reduced }
}

// MARK: - Order

extension EventLog {
    /// Where the entry belongs. O(log n).
    @inlinable
    func place(of entry: LogEntry<Event>, in sources: SourceTable, _ mutations: EngineMutations) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(entries[middle], entry, in: sources)
                || mutations.contains(.orderByArrival)
                    && entries[middle].stamp.milliseconds == entry.stamp.milliseconds
            {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// The total order of events.
    @inlinable
    static func precedes(_ left: LogEntry<Event>, _ right: LogEntry<Event>, in sources: SourceTable) -> Bool {
        if left.stamp.rawValue != right.stamp.rawValue { return left.stamp.rawValue < right.stamp.rawValue }
        if left.slot != right.slot { return sources.records[left.slot].rank < sources.records[right.slot].rank }
        return left.sequence < right.sequence
    }

    /// Whether an entry of that stamp belongs at the end, whoever wrote it.
    @inlinable
    func endsBefore(_ stamp: HybridTimestamp) -> Bool {
        entries.isEmpty || entries[entries.count - 1].stamp.rawValue < stamp.rawValue
    }

    @inlinable
    func index(of slot: Int, _ sequence: UInt64) -> Int? {
        entries.firstIndex { $0.slot == slot && $0.sequence == sequence }
    }
}

// MARK: - Changing

extension EventLog {
    /// Puts an entry at the end and reduces it.
    /// - Throws: what the reducer throws; the log is as it was then.
    @inlinable
    mutating func append<Reducer, ConflictPolicy>(
        _ entry: LogEntry<Event>, metadata: SessionSyncMetadata,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) throws -> SessionEventOutcome {
        let outcome: SessionEventOutcome
        do {
            outcome = try interpreter.reduce(&current, entry, metadata: metadata)
        } catch {
            restore(before: entries.count, by: interpreter, sources: sources)
            throw error
        }
        keep(entry, outcome)
        return outcome
    }

    /// The same for an event that is part of the order, whatever the reducer says to it.
    @inlinable
    mutating func appendRegardless<Reducer, ConflictPolicy>(
        _ entry: LogEntry<Event>, metadata: SessionSyncMetadata,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        if let outcome = try? append(entry, metadata: metadata, by: interpreter, sources: sources) { return outcome }
        if let id = entry.eventID { _ = current.remember(id) }
        keep(entry, .rejected)
        return .rejected
    }

    @inlinable
    mutating func keep(_ entry: LogEntry<Event>, _ outcome: SessionEventOutcome) {
        entries.append(entry)
        entries[entries.count - 1].outcome = outcome
        markIfDue(entries.count)
    }

    /// Puts an entry at its place; later ones are rolled back and reduced again.
    /// - Returns: what it did there, and how many later ones there are.
    @inlinable
    mutating func insert<Reducer, ConflictPolicy>(
        _ entry: LogEntry<Event>, at place: Int,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> (outcome: SessionEventOutcome, replayed: Int) {
        let later = entries.count - place
        let metadata = interpreter.metadata(of: entry, source: sources[entry.slot].source)
        if later == 0 {
            return (appendRegardless(entry, metadata: metadata, by: interpreter, sources: sources), 0)
        }
        entries.insert(entry, at: place)
        if interpreter.mutations.contains(.noReplay) {
            let outcome = try? interpreter.reduce(&current, entry, metadata: metadata)
            entries[place].outcome = outcome
            return (outcome ?? .rejected, 0)
        }
        rollBack(to: place)
        replay(by: interpreter, sources: sources)
        return (entries[place].outcome ?? .rejected, later)
    }

    /// Forgets every checkpoint that includes the entry at `place`.
    @inlinable
    mutating func rollBack(to place: Int) {
        while marks[marks.count - 1].count > place { marks.removeLast() }
    }

    /// Reduces again everything after the last checkpoint.
    @inlinable
    mutating func replay<Reducer, ConflictPolicy>(
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) {
        let last = marks[marks.count - 1]
        current = last.reduced
        for index in last.count..<entries.count {
            do {
                entries[index].outcome = try interpreter.reduce(
                    &current, entries[index],
                    metadata: interpreter.metadata(
                        of: entries[index], source: sources[entries[index].slot].source))
            } catch {
                restore(before: index, by: interpreter, sources: sources)
                if let id = entries[index].eventID { _ = current.remember(id) }
                entries[index].outcome = .rejected
            }
            markIfDue(index + 1)
        }
    }

    /// Gives back the state before the entry at `end`, which a reducer left half changed: from the last checkpoint,
    /// only the events that had an effect.
    @inlinable
    mutating func restore<Reducer, ConflictPolicy>(
        before end: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) {
        let last = marks[marks.count - 1]
        current = last.reduced
        for entry in entries[last.count..<end] {
            if let id = entry.eventID, case .event = entry.content { _ = current.remember(id) }
            guard entry.outcome == .applied, case .event(let event) = entry.content else { continue }
            let metadata = interpreter.metadata(of: entry, source: sources[entry.slot].source)
            try? interpreter.reducer.reduce(
                state: &current.state, event: event, context: SessionEventContext(metadata: metadata))
            current.lastAppliedMetadata = metadata
        }
    }

    @inlinable
    mutating func markIfDue(_ count: Int) {
        guard count - marks[marks.count - 1].count >= Self.markInterval else { return }
        addMark(count)
    }

    @inlinable
    mutating func addMark(_ count: Int) {
        marks.append(Mark(count: count, reduced: current))
        guard marks.count > Self.marksMax else { return }
        let half = marks.count / 2
        marks = marks.enumerated().filter { $0.offset == 0 || $0.offset >= half || $0.offset.isMultiple(of: 2) }
            .map(\.element)
    }

    /// The longest prefix of at most `limit` entries that can become the base.
    @inlinable
    func foldable(upTo limit: Int) -> Int {
        marks.last { $0.count <= limit }?.count ?? 0
    }

    /// Moves the base to the checkpoint at `count`.
    @inlinable
    mutating func fold(_ count: Int) {
        entries.removeFirst(count)
        marks.removeAll { $0.count < count }
        for index in marks.indices { marks[index].count -= count }
        baseCount += UInt64(count)
    }
}
