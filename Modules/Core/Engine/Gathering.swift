import MeshIdentity

extension SessionSyncEngine {
    /// Takes events that have come together: those that are late get their places together when `body` ends, and what
    /// comes after the first of them is reduced once, not once for each.
    ///
    /// ```swift
    /// engine.gather { engine in
    ///     for envelope in batch { do { _ = try engine.receive(envelope) } catch { … } }
    /// }
    /// for event in engine.takeApplied() { … }          // of all of them, each source's in order
    /// ```
    ///
    /// Within `body` only `receive` and `receiveOpaque` may be called, and `applied` says no more than that the event has
    /// been taken: what it did is told by `takeApplied`. Results are not to be kept, as each holds a state.
    ///
    /// Complexity: O(k log k + n) for k late events beside the reducer, which runs for the n events from the first of them
    /// on.
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
            advance()
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

    /// Gives what waits its places; what comes after the first of them is reduced once.
    @inlinable
    mutating func placeGathered() {
        guard !gathered.isEmpty else { return }
        var entries = gathered
        entries.sort { EventLog<State, Event>.precedes($0, $1, in: sources) }
        gathered = []
        log.merge(sorted: entries, in: sources)
        if !options.catchesUpLater { catchUp() }
    }

    /// Whether events have got their places of which `state` does not tell yet; see `catchUp`.
    @inlinable package var isBehind: Bool { log.isBehind }

    /// Reduces what `gather` has put off, at most that many events.
    @inlinable
    package mutating func catchUp(atMost limit: Int = .max) {
        guard log.isBehind else { return }
        for place in log.catchUp(atMost: limit, by: interpreter, sources: sources) {
            let entry = log.entries[place.index]
            applied.append(
                AppliedEntry(entry: entry, outcome: entry.outcome ?? .rejected, replayedCount: place.replayed))
        }
        guard !log.isBehind else { return }
        if options.checksReducer { checkReducer() }
        advance()
    }
}
