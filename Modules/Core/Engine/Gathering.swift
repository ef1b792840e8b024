public import MeshIdentity

/// Events that have been taken and wait for their places, which they get together.
@usableFromInline
struct Gathering<Event: Sendable>: Sendable {
    @usableFromInline var entries: [LogEntry<Event>] = []
    /// The highest stamp held of each slot, once an entry waits.
    @usableFromInline var latest: [Int: HybridTimestamp] = [:]

    @inlinable
    init() {}
}

extension SessionSyncEngine {
    /// Takes events that have come together: those that are late get their places together when `body` ends, and what
    /// comes after the first of them is reduced once, not once for each.
    ///
    /// ```swift
    /// engine.gather { engine in
    ///     for envelope in batch { results.append(Result { try engine.receive(envelope) }) }
    /// }
    /// for event in engine.takeApplied() { … }          // of all of them, each source's in order
    /// ```
    ///
    /// Within `body` only `receive` and `receiveOpaque` may be called, and `applied` says no more than that the event has
    /// been taken: what it did is told by `takeApplied`. Complexity: O(k log k + n) for k late events beside the
    /// reducer, which runs for the n events from the first of them on.
    @inlinable
    public mutating func gather<Result>(_ body: (inout Self) throws -> Result) rethrows -> Result {
        forgetApplied()
        return try together(body)
    }

    @inlinable
    mutating func together<Result>(_ body: (inout Self) throws -> Result) rethrows -> Result {
        isGathering = true
        defer {
            isGathering = false
            keepLastApplied()
            placeGathered()
        }
        return try body(&self)
    }

    /// Runs one call of `receive` within `gather`.
    @inlinable
    mutating func takeGathering(
        _ take: (inout Self) throws -> SessionSyncReceiveResult<State>
    ) rethrows -> SessionSyncReceiveResult<State> {
        keepLastApplied()
        guard isProvisionalShown else { return try take(&self) }
        // What is shown changes with each event, and looks at what the call has put in its place.
        placeGathered()
        let earlier = applied
        applied = []
        isGathering = false
        defer {
            keepLastApplied()
            applied = earlier + applied
            isGathering = true
        }
        return try take(&self)
    }

    /// Lets an entry that belongs before others wait, after the checks that `insert` makes.
    /// - Returns: false when its source contradicts itself.
    @usableFromInline
    mutating func letGather(_ entry: LogEntry<Event>) -> Bool {
        if gathered.latest.isEmpty {
            for held in log.entries where held.stamp > gathered.latest[held.slot] ?? .zero {
                gathered.latest[held.slot] = held.stamp
            }
        }
        if sources[entry.slot].isOpen, let latest = gathered.latest[entry.slot], latest > entry.stamp { return false }
        gathered.latest[entry.slot] = max(entry.stamp, gathered.latest[entry.slot] ?? .zero)
        gathered.entries.append(entry)
        return true
    }

    /// Gives what waits its places, and reduces once what comes after the first of them.
    @inlinable
    mutating func placeGathered() {
        guard !gathered.entries.isEmpty else { return }
        var entries = gathered.entries
        if !mutations.contains(.gatherUnsorted) {
            entries.sort { EventLog<State, Event>.precedes($0, $1, in: sources) }
        }
        gathered = Gathering()
        for place in log.insert(sorted: entries, by: interpreter, sources: sources) {
            let entry = log.entries[place.index]
            applied.append(
                AppliedEntry(entry: entry, outcome: entry.outcome ?? .rejected, replayedCount: place.replayed))
        }
        if options.checksReducer { checkReducer() }
        advance()
    }
}

extension EventLog {
    /// Puts entries at their places; what comes after the first of them is rolled back and reduced again, once.
    /// - Parameter new: in their order; none of them is there yet.
    /// - Returns: for each where it is now, and how many that had been there come after it. O(entries after the first).
    @inlinable
    mutating func insert<Reducer, ConflictPolicy>(
        sorted new: [LogEntry<Event>], by interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        sources: SourceTable
    ) -> [(index: Int, replayed: Int)] {
        let first = place(of: new[0], in: sources, [])
        let later = Array(entries[first...])
        entries.removeSubrange(first...)
        entries.reserveCapacity(first + later.count + new.count)
        var places: [(index: Int, replayed: Int)] = []
        places.reserveCapacity(new.count)
        var kept = later.startIndex
        for entry in new {
            while kept < later.endIndex, Self.precedes(later[kept], entry, in: sources) {
                entries.append(later[kept])
                kept += 1
            }
            places.append((entries.count, later.count - kept))
            entries.append(entry)
        }
        entries.append(contentsOf: later[kept...])
        if interpreter.mutations.contains(.noReplay) {
            for place in places { _ = reduceEntry(at: place.index, by: interpreter, sources: sources) }
            return places
        }
        rollBack(to: first)
        replay(by: interpreter, sources: sources)
        return places
    }
}
