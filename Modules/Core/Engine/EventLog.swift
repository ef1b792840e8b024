public import MeshFoundation
public import MeshIdentity

/// Events in their total order above a base, and the state after them (rule 1 of Docs/Internals/Convergence.md).
///
/// The order is (stamp, source, sequence). A late event is inserted at its place: the state goes back to the last
/// checkpoint before it, and the later events are reduced again. There is a checkpoint every 32 events. Beyond 32
/// checkpoints, or fewer if the state is large, every second one of the older half is dropped. Old places then cost
/// more to reach, but memory is bounded.
@usableFromInline
struct EventLog<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    /// The result of reducing the first entries. It is a `ReducedState` with the last applied event's index instead of
    /// its metadata.
    @usableFromInline
    struct Prefix: Sendable {
        @usableFromInline var state: State
        @usableFromInline var recentEventIDs: [UUID]
        /// The index of the last entry that had an effect; -1 if that event is in the base or there is none.
        @usableFromInline var lastApplied = -1

        @inlinable
        init(_ base: ReducedState<State>) {
            state = base.state
            recentEventIDs = base.recentEventIDs
        }
    }

    /// A checkpoint: the state after the first `count` entries.
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
    /// The state after all entries, or after the first `reducedCount` while the log is behind.
    @usableFromInline var current: Prefix
    /// True while later entries wait to be reduced again after an insertion; see `Behind` in `EventLog+Reduce`.
    @usableFromInline var isBehind = false
    @usableFromInline var behind: Behind?
    /// The checkpoints, oldest first. The first is the base, with count 0.
    @usableFromInline var marks: [Mark]
    @usableFromInline var marksMax = Self.marksHighest
    /// True if the number of checkpoints has changed enough that the size of one should be measured again.
    @usableFromInline var isWeightDue = false
    /// The last event of the base that had an effect.
    @usableFromInline var lastAppliedInBase: SessionSyncMetadata?
    /// The number of events that the base includes.
    @usableFromInline var baseCount: UInt64

    /// The state to show: after all entries, or an estimate while the log is behind.
    @inlinable var visible: Prefix { isBehind ? behind?.shown ?? current : current }
    /// The number of entries whose outcome is current.
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
    /// The index at which the entry belongs. O(log n).
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

    /// The index of the first entry with that stamp for which `isWanted` is true. O(log n).
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

    /// True if `left` comes before `right` in the total order of events.
    @inlinable
    static func precedes(_ left: LogEntry<Event>, _ right: LogEntry<Event>, in sources: SourceTable) -> Bool {
        if left.stamp.rawValue != right.stamp.rawValue { return left.stamp.rawValue < right.stamp.rawValue }
        if left.slot != right.slot { return sources.records[left.slot].rank < sources.records[right.slot].rank }
        return left.sequence < right.sequence
    }

    /// True if an entry with that stamp belongs at the end of the log, regardless of its source.
    @inlinable
    func endsBefore(_ stamp: HybridTimestamp) -> Bool {
        entries.isEmpty || entries[entries.count - 1].stamp.rawValue < stamp.rawValue
    }

    /// True if the log has this entry: the same source, sequence, stamp and ID. O(log n).
    @inlinable
    func holds(_ entry: LogEntry<Event>, in sources: SourceTable) -> Bool {
        let place = place(of: entry, in: sources)
        guard place < entries.count else { return false }
        let known = entries[place].header
        return known.slot == entry.slot && known.sequence == entry.sequence && known.stamp == entry.stamp
            && known.eventID == entry.eventID
    }

    /// Returns the entries of that slot with those sequences, without the ones that the log lacks. O(entries from the
    /// first of them on), because a source's sequences rise in the log.
    /// - Parameter sequences: ascending.
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

    /// The index of the first entry of that slot with that sequence or a higher one. O(entries from there on): missing
    /// events are usually near the end.
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

    /// Calls `body` with a function that reads the header at an index in place. Unspecialized code would copy each
    /// entry, and ask for its layout each time.
    func withHeaders<Result>(_ body: ((Int) -> EntryHeader) -> Result) -> Result {
        let stride = MemoryLayout<LogEntry<Event>>.stride
        return entries.withUnsafeBytes { bytes in
            // An entry starts with its header.
            body { bytes.load(fromByteOffset: $0 * stride, as: EntryHeader.self) }
        }
    }

    /// The index of the entry. O(n).
    @inlinable
    func index(of slot: Int, _ sequence: UInt64) -> Int? {
        entries.firstIndex { $0.slot == slot && $0.sequence == sequence }
    }
}

// MARK: - Checkpoints

extension EventLog {
    @inlinable
    mutating func markIfDue(_ count: Int) {
        // Counts from the first event in the order, so that checkpoints coincide with milestones of the confirmation
        // chain.
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

    /// Drops every second checkpoint of the older half while there are too many.
    @inlinable
    mutating func thinOutMarks() {
        guard marks.count > marksMax else { return }
        isWeightDue = true
        let half = marks.count / 2
        marks = marks.enumerated().filter { $0.offset == 0 || $0.offset >= half || $0.offset.isMultiple(of: 2) }
            .map(\.element)
        thinOutMarks()
    }

    /// Drops every checkpoint that includes the entry at `place`.
    @inlinable
    mutating func rollBack(to place: Int) {
        while marks[marks.count - 1].count > place { marks.removeLast() }
    }

    /// The length of the longest prefix that can become the base: at most `limit` entries, up to a checkpoint.
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

    /// Remembers an explicit ID.
    /// - Returns: false if the ID is already among the remembered ones.
    @usableFromInline
    mutating func remember(_ id: UUID) -> Bool {
        guard !recentEventIDs.contains(id) else { return false }
        if recentEventIDs.count == ReducedState<State>.recentEventIDsMax { recentEventIDs.removeFirst() }
        recentEventIDs.append(id)
        return true
    }
}
