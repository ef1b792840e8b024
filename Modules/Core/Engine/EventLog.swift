public import MeshFoundation
public import MeshIdentity

/// Events in their total order above a base, and the state after them.
///
/// The order is (stamp, source, sequence). An event that comes late is inserted at its place: the state goes back to
/// the last checkpoint before it and the later events are reduced again. There is a checkpoint every 32 events; of more
/// than 32 checkpoints, or fewer of a large state, every second one of the older half is dropped, so that old places cost
/// more and memory less.
@usableFromInline
struct EventLog<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The state after a number of entries, and what else follows from them: a `ReducedState` without metadata.
    @usableFromInline
    struct Prefix: Sendable {
        @usableFromInline var state: State
        @usableFromInline var recentEventIDs: [UUID]
        /// The place of the last entry that had an effect; -1 when that is in the base.
        @usableFromInline var lastApplied = -1

        @inlinable
        init(_ base: ReducedState<State>) {
            state = base.state
            recentEventIDs = base.recentEventIDs
        }
    }

    /// The state after the first `count` entries.
    @usableFromInline
    struct Mark: Sendable {
        @usableFromInline var count: Int
        @usableFromInline var prefix: Prefix

        @inlinable
        init(count: Int, prefix: Prefix) {
            self.count = count
            self.prefix = prefix
        }
    }

    @usableFromInline var entries: [LogEntry<Event>] = []
    /// After all entries, or, while the log is behind, after the first `reducedCount`.
    @usableFromInline var current: Prefix
    /// Entries were put at places whose later ones have not been reduced again yet; see `EventLog+CatchUp`.
    @usableFromInline var isBehind = false
    @usableFromInline var behind: Behind?
    /// The first one is the base, of count 0.
    @usableFromInline var marks: [Mark]
    @usableFromInline var marksMax = Self.marksHighest
    /// Since somebody asked what a checkpoint weighs, the number of them has become worth asking again.
    @usableFromInline var isWeightDue = false
    /// The last event of the base that had an effect.
    @usableFromInline var lastAppliedInBase: SessionSyncMetadata?
    /// How many events the base includes.
    @usableFromInline var baseCount: UInt64

    /// The state after all entries, as far as it is known.
    @inlinable var visible: Prefix { isBehind ? behind?.shown ?? current : current }
    /// Entries whose outcome is the last one.
    @inlinable var reducedCount: Int { isBehind ? behind?.reducedCount ?? 0 : entries.count }

    @inlinable static var markInterval: Int { 32 }
    @inlinable static var marksHighest: Int { 32 }
    @inlinable static var marksLowest: Int { 4 }

    @inlinable
    init(base: ReducedState<State>, baseCount: UInt64 = 0) {
        current = Prefix(base)
        marks = [Mark(count: 0, prefix: current)]
        lastAppliedInBase = base.lastAppliedMetadata
        self.baseCount = baseCount
    }

    var base: ReducedState<State> {
        ReducedState(
            state: marks[0].prefix.state, lastAppliedMetadata: lastAppliedInBase,
            recentEventIDs: marks[0].prefix.recentEventIDs)
    }
}

// MARK: - Order

extension EventLog {
    /// Where the entry belongs. O(log n).
    @inlinable
    func place(of entry: LogEntry<Event>, in sources: SourceTable) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(entries[middle], entry, in: sources) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// The first entry with that stamp that is wanted. O(log n).
    func place(of stamp: HybridTimestamp, where isWanted: (EntryHeader) -> Bool) -> Int? {
        withHeaders { header in
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if header(middle).stamp.rawValue < stamp.rawValue { low = middle + 1 } else { high = middle }
            }
            while low < entries.count, header(low).stamp == stamp {
                if isWanted(header(low)) { return low }
                low += 1
            }
            return nil
        }
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

    /// Whether it is there, under the same id. O(log n).
    @inlinable
    func holds(_ entry: LogEntry<Event>, in sources: SourceTable) -> Bool {
        let place = place(of: entry, in: sources)
        guard place < entries.count else { return false }
        let known = entries[place].header
        return known.slot == entry.slot && known.sequence == entry.sequence && known.stamp == entry.stamp
            && known.eventID == entry.eventID
    }

    /// Those that are there. O(entries from the first of them on), as the sequences of a source rise in the log.
    /// - Parameter sequences: in order.
    func entries(of slot: Int, _ sequences: [UInt64]) -> [LogEntry<Event>] {
        guard let lowest = sequences.first, let start = firstPlace(of: slot, notBelow: lowest) else { return [] }
        return withHeaders { header in
            var found: [LogEntry<Event>] = []
            var next = 0
            for place in start..<entries.count where header(place).slot == slot {
                while next < sequences.count, sequences[next] < header(place).sequence { next += 1 }
                guard next < sequences.count else { break }
                if sequences[next] == header(place).sequence { found.append(entries[place]) }
            }
            return found
        }
    }

    /// The first entry of that slot with that sequence or a higher one. O(entries from there on): what somebody lacks is
    /// near the end.
    func firstPlace(of slot: Int, notBelow sequence: UInt64) -> Int? {
        withHeaders { header in
            var found: Int?
            for place in entries.indices.reversed() where header(place).slot == slot {
                guard header(place).sequence >= sequence else { break }
                found = place
            }
            return found
        }
    }

    /// Headers by their places, looked at where they lie: code that is compiled for no event type in particular would be
    /// given a copy of each entry, and ask for the layout each time.
    func withHeaders<Result>(_ body: ((Int) -> EntryHeader) -> Result) -> Result {
        let stride = MemoryLayout<LogEntry<Event>>.stride
        return entries.withUnsafeBytes { bytes in
            // An entry begins with its header.
            body { bytes.load(fromByteOffset: $0 * stride, as: EntryHeader.self) }
        }
    }

    /// O(n).
    @inlinable
    func index(of slot: Int, _ sequence: UInt64) -> Int? {
        entries.firstIndex { $0.slot == slot && $0.sequence == sequence }
    }
}

// MARK: - Checkpoints

extension EventLog {
    @inlinable
    mutating func markIfDue(_ count: Int) {
        // At multiples of the interval in the whole order: milestones of the confirmed events lie there.
        guard (Int(truncatingIfNeeded: baseCount) &+ count) % Self.markInterval == 0,
            count > marks[marks.count - 1].count
        else { return }
        addMark(count)
    }

    @inlinable
    mutating func addMark(_ count: Int) {
        marks.append(Mark(count: count, prefix: current))
        if marks.count == Self.marksLowest + 1 { isWeightDue = true }
        thinOutMarks()
    }

    /// Old places cost more to reach then.
    @inlinable
    mutating func thinOutMarks() {
        guard marks.count > marksMax else { return }
        isWeightDue = true
        let half = marks.count / 2
        marks = marks.enumerated().filter { $0.offset == 0 || $0.offset >= half || $0.offset.isMultiple(of: 2) }
            .map(\.element)
        thinOutMarks()
    }

    /// Forgets every checkpoint that includes the entry at `place`.
    @inlinable
    mutating func rollBack(to place: Int) {
        while marks[marks.count - 1].count > place { marks.removeLast() }
    }

    /// The longest prefix of at most `limit` entries that can become the base.
    @inlinable
    func foldable(upTo limit: Int) -> Int {
        marks.last { $0.count <= limit }?.count ?? 0
    }

    /// Moves the base to the checkpoint at `count`.
    @inlinable
    mutating func fold<Reducer, ConflictPolicy>(
        _ count: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) {
        if let mark = marks.firstIndex(where: { $0.count >= count }) {
            lastAppliedInBase = metadata(ofLastAppliedIn: marks[mark].prefix, by: interpreter, sources: sources)
            marks.removeSubrange(..<mark)
        }
        entries.removeFirst(count)
        for index in marks.indices { marks[index].move(by: count) }
        current.move(by: count)
        if isBehind { behind?.move(by: count) }
        baseCount += UInt64(count)
    }
}

extension EventLog.Mark {
    @inlinable
    mutating func move(by folded: Int) {
        count -= folded
        prefix.move(by: folded)
    }
}

extension EventLog.Prefix {
    @inlinable
    mutating func move(by folded: Int) { lastApplied = max(-1, lastApplied - folded) }

    /// - Returns: false when the id is one of those that came last.
    @usableFromInline
    mutating func remember(_ id: UUID) -> Bool {
        guard !recentEventIDs.contains(id) else { return false }
        if recentEventIDs.count == ReducedState<State>.recentEventIDsMax { recentEventIDs.removeFirst() }
        recentEventIDs.append(id)
        return true
    }
}
