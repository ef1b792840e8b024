public import MeshIdentity

/// Reduction of events. Every replica runs the policy, then the reducer, at the event's place in the order.
///
/// Reducer and policy see only metadata that is equal on every replica: without promise, acknowledgement and group,
/// which belong to one delivery.
extension EventLog {
    /// Appends an event, even if the reducer rejects it.
    @inlinable
    mutating func appendUnconditionally<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        let outcome = reduceUnconditionally(event, header, at: entries.count, by: interpreter, sources: sources)
        keep(LogEntry(header, .event(event), outcome: outcome))
        return outcome
    }

    /// Appends an event unless the reducer throws.
    /// - Throws: the reducer's errors. The log is unchanged then.
    @inlinable
    mutating func append<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) throws {
        let outcome: SessionEventOutcome
        do {
            outcome = try reduce(event, header, at: entries.count, by: interpreter, sources: sources)
        } catch {
            restore(before: entries.count, by: interpreter, sources: sources)
            throw error
        }
        keep(LogEntry(header, .event(event), outcome: outcome))
    }

    /// Appends an entry that has been reduced.
    @inlinable @inline(__always)
    mutating func keep(_ entry: LogEntry<Event>) {
        entries.append(entry)
        markIfDue(entries.count)
    }

    /// Inserts an entry at its place, rolls back the later ones and reduces them again.
    /// - Returns: the entry's effect, and the number of later entries.
    @inlinable
    mutating func insert<Reducer, ConflictPolicy>(
        _ entry: LogEntry<Event>, at place: Int,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> (outcome: SessionEventOutcome, replayed: Int) {
        let later = entries.count - place
        entries.insert(entry, at: place)
        if later == 0 {
            let outcome = reduceEntry(at: place, by: interpreter, sources: sources)
            markIfDue(entries.count)
            return (outcome, 0)
        }
        rollBack(to: place)
        replay(by: interpreter, sources: sources)
        return (entries[place].outcome ?? .rejected, later)
    }

    /// Reduces all entries after the last checkpoint again.
    @inlinable
    mutating func replay<Reducer, ConflictPolicy>(
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) {
        current = marks[marks.count - 1].prefix
        for index in marks[marks.count - 1].count..<entries.count {
            _ = reduceEntry(at: index, by: interpreter, sources: sources)
            markIfDue(index + 1)
        }
    }

    /// Applies an entry of the log to the current state and records its outcome.
    @inlinable
    mutating func reduceEntry<Reducer, ConflictPolicy>(
        at place: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        let outcome: SessionEventOutcome =
            switch entries[place].content {
            case .event(let event):
                reduceUnconditionally(event, entries[place].header, at: place, by: interpreter, sources: sources)
            case .opaque: .unread
            case .replacement: .applied
            }
        entries[place].outcome = outcome
        return outcome
    }

    /// Applies an event that is part of the order, even if the reducer rejects it.
    @inlinable
    mutating func reduceUnconditionally<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader, at place: Int,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        do {
            return try reduce(event, header, at: place, by: interpreter, sources: sources)
        } catch {
            restore(before: place, by: interpreter, sources: sources)
            if let id = header.eventID { _ = current.remember(id) }
            return .rejected
        }
    }

    /// Applies an event to the current state.
    /// - Throws: the reducer's errors. The state may be half changed then, and must be restored.
    @inlinable
    mutating func reduce<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader, at place: Int,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) throws -> SessionEventOutcome {
        if let id = header.eventID, !current.remember(id) { return .repeated }
        guard shouldApply(event, header, by: interpreter, sources: sources) else { return .rejected }
        try interpreter.reducer.reduce(
            state: &current.state, event: event,
            context: SessionEventContext(metadata: interpreter.metadata(of: header, in: sources)))
        current.lastApplied = place
        return .applied
    }

    @inlinable
    func shouldApply<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> Bool {
        // The accepting policy needs no context, and making one is most of an event's cost.
        if ConflictPolicy.self == AcceptingConflictPolicy<State, Event>.self { return true }
        return interpreter.conflictPolicy.shouldApply(
            event: event,
            context: SessionConflictContext(
                state: current.state,
                lastAppliedMetadata: metadata(ofLastAppliedIn: current, by: interpreter, sources: sources),
                metadata: interpreter.metadata(of: header, in: sources)))
    }

    /// The metadata of the last event in that prefix that had an effect.
    @inlinable
    func metadata<Reducer, ConflictPolicy>(
        ofLastAppliedIn prefix: Prefix, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) -> SessionSyncMetadata? {
        guard prefix.lastApplied >= 0 else { return lastAppliedInBase }
        return interpreter.metadata(of: entries[prefix.lastApplied].header, in: sources)
    }

    /// Restores the state before the entry at `end`, after a reducer has left it half changed. Starts at the last
    /// checkpoint and reduces only the events that had an effect.
    @usableFromInline
    mutating func restore<Reducer, ConflictPolicy>(
        before end: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) {
        current = marks[marks.count - 1].prefix
        for index in marks[marks.count - 1].count..<end {
            guard case .event(let event) = entries[index].content else { continue }
            if let id = entries[index].eventID { _ = current.remember(id) }
            guard entries[index].outcome == .applied else { continue }
            try? interpreter.reducer.reduce(
                state: &current.state, event: event,
                context: SessionEventContext(metadata: interpreter.metadata(of: entries[index].header, in: sources)))
            current.lastApplied = index
        }
    }
}

/// A log that is behind: it has events that aren't reduced yet. `catchUp` reduces them in slices, so that no call takes
/// long. Meanwhile the earlier state is shown, with the user's later events on top.
extension EventLog {
    @usableFromInline
    struct Behind: Sendable {
        /// The number of entries that have been reduced; `current` is the state after these.
        @usableFromInline var reducedCount: Int
        @usableFromInline var shown: Prefix
        /// The index after the last entry that is in `shown`.
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

    /// Creates a log whose entries aren't reduced yet.
    /// - Parameter state: the state to show until they are.
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

    /// Inserts entries at their places, and goes back to the last checkpoint before the first of them. Complexity:
    /// O(entries after the first).
    /// - Parameter new: the entries in their order. At least one, and none that is in the log.
    @inlinable
    mutating func merge(sorted new: [LogEntry<Event>], in sources: SourceTable) {
        let first = place(of: new[0], in: sources)
        var behind = behind ?? Behind(reducedCount: entries.count, shown: current, knownCount: entries.count)
        // Usually few entries lie between the first and the last new one. The rest of the log moves as a block.
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
            // The stored indices of these entries move too.
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

    /// Reduces at most `limit` entries.
    /// - Returns: the indices of entries that were reduced for the first time, each with the number of later entries
    ///   that were known before it.
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

    /// Appends an event on top of the shown state, unless the reducer throws.
    /// - Throws: the reducer's errors. The log is unchanged then.
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
