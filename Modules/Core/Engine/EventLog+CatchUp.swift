import MeshIdentity

/// A log that is behind: events have got their places, and what follows from them is reduced bit by bit, so that nobody waits
/// for all of it. Meanwhile the state before is shown, with what the user does since on top of it.
extension EventLog {
    @usableFromInline
    struct Behind: Sendable {
        /// How far the log has come: `current` is the state after these.
        @usableFromInline var reducedCount: Int
        @usableFromInline var shown: Prefix
        /// Up to here entries had been reduced before others came between them.
        @usableFromInline var knownCount: Int

        @inlinable
        init(reducedCount: Int, shown: Prefix, knownCount: Int) {
            self.reducedCount = reducedCount
            self.shown = shown
            self.knownCount = knownCount
        }

        @inlinable
        mutating func move(by folded: Int) {
            reducedCount -= folded
            knownCount = max(0, knownCount - folded)
            shown.move(by: folded)
        }
    }

    /// A whole log of which nothing is reduced yet.
    /// - Parameter state: shown until it is.
    @usableFromInline
    init(
        base: ReducedState<State>, baseCount: UInt64, unreduced entries: [LogEntry<Event>], showing state: State
    ) {
        self.init(base: base, baseCount: baseCount)
        self.entries = entries
        guard !entries.isEmpty else { return }
        isBehind = true
        behind = Behind(reducedCount: 0, shown: Prefix(ReducedState(state: state)), knownCount: 0)
    }

    /// Puts entries at their places, and goes back to the last checkpoint before the first of them.
    /// - Parameter new: in their order; none of them is there yet. Complexity: O(entries after the first).
    @inlinable
    mutating func merge(sorted new: [LogEntry<Event>], in sources: SourceTable) {
        let first = place(of: new[0], in: sources)
        var behind = behind ?? Behind(reducedCount: entries.count, shown: current, knownCount: entries.count)
        // Between the first and the last of them lie few: the rest moves as one.
        let last = max(first, place(of: new[new.count - 1], in: sources))
        var merged: [LogEntry<Event>] = []
        merged.reserveCapacity(last - first + new.count)
        let (known, shown) = (behind.knownCount - 1, behind.shown.lastApplied)
        if known >= last { behind.knownCount += new.count }
        if shown >= last { behind.shown.lastApplied += new.count }
        var next = 0
        for index in first..<last {
            while next < new.count, Self.precedes(new[next], entries[index], in: sources) {
                merged.append(new[next])
                next += 1
            }
            // What refers to places moves with them.
            if index == known { behind.knownCount += next }
            if index == shown { behind.shown.lastApplied += next }
            merged.append(entries[index])
        }
        merged.append(contentsOf: new[next...])
        entries.replaceSubrange(first..<last, with: merged)
        if behind.reducedCount > first {
            rollBack(to: first)
            current = marks[marks.count - 1].prefix
            behind.reducedCount = marks[marks.count - 1].count
        }
        self.behind = behind
        isBehind = true
    }

    /// Reduces at most that many entries.
    /// - Returns: where those are that were reduced for the first time, and how many that had been there come after each.
    @inlinable
    mutating func catchUp<Reducer, ConflictPolicy>(
        atMost limit: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) -> [(index: Int, replayed: Int)] {
        guard var behind else { return [] }
        var new: [(index: Int, replayed: Int)] = []
        let end = behind.reducedCount + min(limit, entries.count - behind.reducedCount)
        while behind.reducedCount < end {
            let index = behind.reducedCount
            if entries[index].outcome == nil { new.append((index, max(0, behind.knownCount - index - 1))) }
            _ = reduceEntry(at: index, by: interpreter, sources: sources)
            behind.reducedCount += 1
            markIfDue(behind.reducedCount)
        }
        isBehind = end < entries.count
        self.behind = isBehind ? behind : nil
        return new
    }

    /// Puts an event at the end unless the reducer refuses it, as things are shown.
    /// - Throws: what the reducer throws; the log is as it was then.
    @usableFromInline
    mutating func appendBehind<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) throws {
        guard let behind else { return }
        let reduced = current
        defer { current = reduced }
        current = behind.shown
        let outcome = try reduce(event, header, at: entries.count, by: interpreter, sources: sources)
        self.behind?.shown = current
        entries.append(LogEntry(header, .event(event), outcome: outcome))
        self.behind?.knownCount = entries.count
    }
}
