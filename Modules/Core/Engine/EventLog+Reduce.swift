public import MeshIdentity

/// Giving events their effect: policy, then reducer, on every replica alike and at the ordered place.
///
/// A reducer and a policy see only facts that are equal on every replica: what belongs to one delivery (promise,
/// acknowledgement, group) is not in the metadata.
extension EventLog {
    /// Puts an event at the end, whatever the reducer says to it.
    @inlinable
    mutating func appendRegardless<Reducer, ConflictPolicy>(
        _ event: Event, _ header: EntryHeader,
        by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        let outcome = reduceRegardless(event, header, at: entries.count, by: interpreter, sources: sources)
        keep(LogEntry(header, .event(event), outcome: outcome))
        return outcome
    }

    /// Puts an event at the end unless the reducer refuses it.
    /// - Throws: what the reducer throws; the log is as it was then.
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

    /// Puts an entry that has been reduced at the end.
    @inlinable @inline(__always)
    mutating func keep(_ entry: LogEntry<Event>) {
        entries.append(entry)
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

    /// Reduces again everything after the last checkpoint.
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

    /// Applies an entry of the log to the current state and notes what it did.
    @inlinable
    mutating func reduceEntry<Reducer, ConflictPolicy>(
        at place: Int, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>, sources: SourceTable
    ) -> SessionEventOutcome {
        let outcome: SessionEventOutcome =
            switch entries[place].content {
            case .event(let event):
                reduceRegardless(event, entries[place].header, at: place, by: interpreter, sources: sources)
            case .opaque: .unread
            case .replacement: .applied
            }
        entries[place].outcome = outcome
        return outcome
    }

    /// Applies an event that is part of the order, whatever the reducer says to it.
    @inlinable
    mutating func reduceRegardless<Reducer, ConflictPolicy>(
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
    /// - Throws: what the reducer throws; the state may be half changed then and has to be restored.
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
        // It needs no context, which is most of what an event costs.
        if ConflictPolicy.self == AcceptingConflictPolicy<State, Event>.self { return true }
        return interpreter.conflictPolicy.shouldApply(
            event: event,
            context: SessionConflictContext(
                state: current.state,
                lastAppliedMetadata: metadata(ofLastAppliedIn: current, by: interpreter, sources: sources),
                metadata: interpreter.metadata(of: header, in: sources)))
    }

    /// The last event in that prefix that had an effect.
    @inlinable
    func metadata<Reducer, ConflictPolicy>(
        ofLastAppliedIn prefix: Prefix, by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) -> SessionSyncMetadata? {
        guard prefix.lastApplied >= 0 else { return lastAppliedInBase }
        return interpreter.metadata(of: entries[prefix.lastApplied].header, in: sources)
    }

    /// Gives back the state before the entry at `end`, which a reducer left half changed: from the last checkpoint,
    /// only the events that had an effect.
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
