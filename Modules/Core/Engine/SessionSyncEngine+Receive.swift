public import MeshFoundation
public import MeshIdentity

// Receiving (rules 1, 5 and 10 of Docs/Internals/Convergence.md). Late events are inserted with undo and redo, as in
// Terry et al.: *Managing Update Conflicts in Bayou* (1995).
// - Gap: a source's events beyond the next one. They wait in a `GapBuffer` and aren't held.
// - Fork: two stores have written under one source's name, so source and sequence may mean two events.

extension SessionSyncEngine {
    /// Takes an event from any source and puts it at its place in the order.
    ///
    /// An event in order costs O(1) plus the reducer. A late event rolls back the events after it and reduces them
    /// again. An event that comes before earlier ones of its source waits in a bounded buffer. The result is then
    /// `snapshotRequired`, and the next control requests the missing events. `takeApplied` lists all events that a call
    /// put in place.
    ///
    /// - Throws: `SessionSyncError`: `sessionMismatch`, `featureMismatch`, `payloadTypeMismatch`,
    ///   `unsupportedProtocolVersion`, `outOfRange`, `tooManySources`. Nothing changes then.
    @inlinable
    public mutating func receive(_ envelope: SessionSyncEnvelope<Event>) throws -> SessionSyncReceiveResult<State> {
        try check(envelope.metadata, payloadType: payloadType)
        if isGathering { return try receiveGathering(envelope) }
        forgetApplied()
        return try receiveNext(envelope) ?? take(envelope.metadata, .event(envelope.payload))
    }

    @inlinable
    mutating func receiveGathering(
        _ envelope: SessionSyncEnvelope<Event>
    ) throws -> SessionSyncReceiveResult<State> {
        try takeGathering { engine in
            // Gathered events may come before this one.
            if engine.gathered.isEmpty, engine.receiveNext(envelope) != nil { return .applied(engine.state) }
            return try engine.take(envelope.metadata, .event(envelope.payload))
        }
    }

    /// Takes the next event of a member if it is later than everything held, which is the common case. Returns nil if
    /// it isn't.
    @inlinable
    mutating func receiveNext(_ envelope: SessionSyncEnvelope<Event>) -> SessionSyncReceiveResult<State>? {
        guard envelope.metadata.epoch == epochTag, !isProvisionalShown, frozenAt == .max,
            let slot = sources.slot(of: envelope.metadata.sourcePeerID, envelope.metadata.incarnation), slot != 0,
            sources.records[slot].isOpen, envelope.metadata.sequence == sources.records[slot].held &+ 1,
            gaps.isEmpty, !log.isBehind, envelope.metadata.stamp.rawValue > cutStamp.rawValue,
            envelope.metadata.stamp.isUsable, log.endsBefore(envelope.metadata.stamp)
        else { return nil }
        let header = EntryHeader(
            stamp: envelope.metadata.stamp, sequence: envelope.metadata.sequence, slot: slot,
            causalTimestamp: envelope.metadata.causalTimestamp,
            monotonicTimestamp: envelope.metadata.monotonicTimestamp,
            // The event has a stamp and this payload type, so an ID that isn't explicit follows from the other fields.
            eventID: envelope.metadata.explicitEventID)
        let outcome = log.appendUnconditionally(envelope.payload, header, by: interpreter, sources: sources)
        if options.checksReducer { checkReducer() }
        sources.records[slot].held &+= 1
        sources.records[slot].lastStamp = envelope.metadata.stamp
        observe(envelope.metadata.stamp, of: slot)
        isLastApplied = true
        updatePromises(of: slot, with: envelope.metadata.promise)
        if sealed { advance() }
        // No peer's state is shown in this case.
        return Self.result(of: outcome, log.current.state)
    }

    @inlinable
    mutating func updatePromises(of slot: Int, with promise: SequencePromise?) {
        if let promise { sources.take(promise, of: slot) }
        sources.activatePromises(of: slot)
    }

    /// Takes an event that `receiveNext` didn't take.
    @inlinable
    mutating func take(_ metadata: SessionSyncMetadata, _ content: SessionRecord<Event>.Content) throws
        -> SessionSyncReceiveResult<State>
    {
        let isShown = isProvisionalShown
        guard let slot = try admit(metadata) else { return .ignored(state) }
        guard metadata.sequence > 0 else { return .ignored(state) }
        let entry = LogEntry<Event>(
            EntryHeader(
                stamp: metadata.orderStamp, sequence: metadata.sequence, slot: slot,
                causalTimestamp: metadata.causalTimestamp, monotonicTimestamp: metadata.monotonicTimestamp,
                eventID: metadata.explicitID(in: payloadType)),
            content)
        guard entry.stamp.isUsable else {
            pending.raise(.unusableStamp(SourceSequence(source: sources[slot].source, sequence: entry.sequence)))
            return .ignored(state)
        }
        var result = isProvisionalShown ? takeProvisionally(entry) : take(entry)
        // The events are held now, in their order, so the state differs from the one that was shown.
        if isShown, !isProvisionalShown { result = .applied(state) }
        // `applied` makes the caller publish the shown state; see `needsPublishing`.
        if case .duplicate = result, needsPublishing { result = .applied(state) }
        if sources[slot].isOpen, isInstalledView(metadata.epoch), let promise = metadata.promise {
            sources.take(promise, of: slot)
            pending.changesMembership = true
        }
        // Nothing may be confirmed while gathered events that could precede it have no place yet.
        if isGathering { moveCut() } else { advance() }
        return result
    }

    /// Puts the entry and the buffered ones that follow it at their places, or buffers it while earlier ones are
    /// missing.
    @inlinable
    mutating func take(_ entry: LogEntry<Event>) -> SessionSyncReceiveResult<State> {
        let expected = sources[entry.slot].held + 1
        guard entry.sequence >= expected else {
            checkFork(entry)
            return .duplicate(state)
        }
        guard entry.sequence == expected else {
            buffer(entry)
            return .snapshotRequired(expectedSequence: expected, receivedSequence: entry.sequence)
        }
        guard let outcome = insert(entry) else { return .ignored(state) }
        drainGap(entry.slot)
        // A buffered event may have had an effect even if this one has none.
        if outcome != .applied, !isGathering, applied.contains(where: { $0.outcome == .applied }) {
            return .applied(state)
        }
        return result(of: outcome)
    }

    @usableFromInline
    mutating func buffer(_ entry: LogEntry<Event>) {
        let slot = entry.slot
        if gaps[slot] == nil { pending.controls.insert(sources[slot].source.peerID) }
        var entry = entry
        weigh(&entry)
        let bytesOfOtherIncarnations = bufferedBytesOfOtherIncarnations(than: slot)
        gaps[slot, default: GapBuffer()].insert(
            entry, limit: options.gapMax, bytesOfOtherIncarnations: bytesOfOtherIncarnations)
        if gaps[slot]?.isEmpty == true { gaps[slot] = nil }
    }

    /// Bytes buffered for other incarnations of the slot's peer. As a peer can have many, they share one bound.
    private func bufferedBytesOfOtherIncarnations(than slot: Int) -> Int {
        let peerID = sources[slot].source.peerID
        return gaps.reduce(0) { sum, gap in
            gap.key != slot && sources[gap.key].source.peerID == peerID ? sum + gap.value.byteCount : sum
        }
    }

    @usableFromInline
    mutating func drainGap(_ slot: Int) {
        guard !gaps.isEmpty else { return }
        while let entry = gaps[slot]?.next(sources[slot].held + 1) {
            guard insert(entry) != nil else { break }
        }
        if gaps[slot]?.isEmpty == true { gaps[slot] = nil }
    }

    /// Puts an entry, the next of its source, at its place.
    /// - Returns: nil if it is refused: its source had promised to write nothing there, or its stamp is out of order.
    @inlinable
    mutating func insert(_ entry: LogEntry<Event>) -> SessionEventOutcome? {
        // Catching up may move the cut.
        if !isGathering { catchUp() }
        let place = log.place(of: entry, in: sources)
        guard entry.stamp > cutStamp, place >= settledCount else {
            pending.raise(
                .promiseBroken(SourceSequence(source: sources[entry.slot].source, sequence: entry.sequence)))
            // Only an older copy of the source's store forgets a promise.
            raiseFork(entry.slot, entry.sequence)
            return nil
        }
        var entry = entry
        if entry.slot == 0 { weigh(&entry) }
        let outcome: SessionEventOutcome
        if contradictsItsSource(entry) {
            raiseFork(entry.slot, entry.sequence)
            return nil
        }
        let isLate = place < log.entries.count || !gathered.isEmpty || log.isBehind
        if isGathering, isLate {
            gathered.append(entry)
            outcome = entry.isOpaque ? .unread : .applied
        } else {
            let replayed: Int
            (outcome, replayed) = log.insert(entry, at: place, by: interpreter, sources: sources)
            if options.checksReducer { checkReducer() }
            applied.append(AppliedEntry(entry: entry, outcome: outcome, replayedCount: replayed))
        }
        observe(entry.stamp, of: entry.slot)
        sources[entry.slot].held = entry.sequence
        sources[entry.slot].lastStamp = max(sources[entry.slot].lastStamp, entry.stamp)
        sources.activatePromises(of: entry.slot)
        if entry.slot == 0 { countOwn(entry) }
        return outcome
    }

    /// True if the entry's stamp is below the highest one of the same member. Then two stores have written as one
    /// source, because the stamps of one store rise.
    @usableFromInline
    func contradictsItsSource(_ entry: LogEntry<Event>) -> Bool {
        sources[entry.slot].isOpen && sources[entry.slot].lastStamp > entry.stamp
    }

    /// Raises the clock, so that local events come after this one.
    @inlinable
    mutating func observe(_ stamp: HybridTimestamp, of slot: Int) {
        guard stamp.rawValue > clock.latest.rawValue else { return }
        clock.observe(stamp)
        if stamp.milliseconds > wallMilliseconds &+ options.clockAheadMilliseconds { raiseFarAhead(stamp, slot) }
    }

    /// Raises the alarm once for each source, but not while the wall clock is 0, as on a watch that has just booted.
    @usableFromInline
    mutating func raiseFarAhead(_ stamp: HybridTimestamp, _ slot: Int) {
        guard wallMilliseconds > 0, !sources[slot].hasRaisedFarAhead else { return }
        sources[slot].hasRaisedFarAhead = true
        pending.raise(.clockFarAhead(sources[slot].source, milliseconds: stamp.milliseconds - wallMilliseconds))
    }

    @inlinable
    func result(of outcome: SessionEventOutcome) -> SessionSyncReceiveResult<State> {
        Self.result(of: isGathering && outcome != .unread ? .applied : outcome, state)
    }

    @inlinable
    static func result(of outcome: SessionEventOutcome, _ state: State) -> SessionSyncReceiveResult<State> {
        switch outcome {
        case .applied: .applied(state)
        case .rejected, .unread: .ignored(state)
        case .repeated: .duplicate(state)
        }
    }

    /// Raises an alarm if a known event comes with another stamp or ID: a store was copied or restored from a backup.
    @inlinable
    mutating func checkFork(_ entry: LogEntry<Event>) {
        guard !sources[entry.slot].isForked, entry.sequence > sources[entry.slot].folded,
            !log.holds(entry, in: sources), let index = log.index(of: entry.slot, entry.sequence)
        else { return }
        let known = log.entries[index]
        guard known.stamp != entry.stamp || known.eventID != entry.eventID else { return }
        raiseFork(entry.slot, entry.sequence)
    }

    @usableFromInline
    mutating func raiseFork(_ slot: Int, _ sequence: UInt64) {
        guard !sources[slot].isForked else { return }
        sources[slot].isForked = true
        countForkedMembers()
        pending.changesMembership = true
        pending.raise(.forked(SourceSequence(source: sources[slot].source, sequence: sequence)))
        pending.controls.insert(sources[slot].source.peerID)
    }

    mutating func countForkedMembers() {
        hasForkedMember = sources.records.contains { $0.isForked && $0.isOpen }
    }
}

extension SessionSyncMetadata {
    /// The event's ID; nil if it can be derived from the fields that the log keeps.
    @usableFromInline
    func explicitID(in payloadType: String) -> UUID? {
        if let id = explicitEventID { return id }
        return stamp == .zero || self.payloadType != payloadType ? eventID : nil
    }

    /// The stamp that determines the event's place. Without one, in metadata made manually, it is derived from the
    /// event's time, which is equal on every device.
    @usableFromInline var orderStamp: HybridTimestamp {
        stamp == .zero ? HybridTimestamp(milliseconds: causalTimestamp.millisecondsSince1970) : stamp
    }
}

extension SessionSyncEngine {
    /// Takes a batch of events. Late ones are inserted when `body` ends. The events after the first late one are then
    /// reduced once, and not once for each late event.
    ///
    /// ```swift
    /// engine.gather { engine in
    ///     for envelope in batch { do { _ = try engine.receive(envelope) } catch { … } }
    /// }
    /// for event in engine.takeApplied() { … }          // events of all envelopes, each source's in order
    /// ```
    ///
    /// Call only `receive` and `receiveOpaque` in `body`. There, `applied` means only that the event has been taken;
    /// `takeApplied` has its effect. Don't keep the results, because each holds a state.
    ///
    /// Complexity: O(k log k + n) for k late events, plus the reducer, which runs for the n events from the first of
    /// them on. If many batches follow each other, set `options.catchesUpLater` and call `catchUp(atMost:)` after the
    /// last one. The reducer then runs once for all of them.
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
        // Events on top of a peer's state can't wait: each changes the shown state.
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

    /// Puts the gathered entries at their places. The events after the first of them are reduced once.
    @inlinable
    mutating func placeGathered() {
        guard !gathered.isEmpty else { return }
        var entries = gathered
        entries.sort { EventLog<State, Event>.precedes($0, $1, in: sources) }
        gathered = []
        log.merge(sorted: entries, in: sources)
        if !options.catchesUpLater { catchUp() }
    }

    /// True if the log has events that `state` doesn't include yet; see `catchUp(atMost:)`.
    @inlinable public var isBehind: Bool { log.isBehind }

    /// Reduces at most `limit` of the events that `gather` and `adopt` have deferred, with `options.catchesUpLater`.
    ///
    /// Call it until `isBehind` is false. Between two calls you may do anything else: `state` is the earlier one, with
    /// later local events on top. An event may be confirmed before `state` shows it. `takeApplied` lists the events that
    /// a call has reduced for the first time.
    ///
    /// Complexity: O(`limit`), plus the reducer.
    @inlinable
    public mutating func catchUp(atMost limit: Int = .max) {
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

/// Events of one source that arrived before earlier ones, by sequence.
///
/// Bounded by the engine's `gapMax` and in bytes. Entries that don't fit are dropped, and requested again. A buffered
/// event isn't held: it is never acknowledged, and doesn't make a promise count.
@usableFromInline
struct GapBuffer<Event: Sendable>: Sendable {
    private(set) var entries: [LogEntry<Event>] = []
    private(set) var byteCount = 0

    /// Maximum number of bytes of all entries of one peer's incarnations, if a session measures them.
    static var bytesMax: Int { 8 << 20 }

    init() {}

    @usableFromInline var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var first: LogEntry<Event>? { entries.first }
    var last: UInt64 { entries.last?.sequence ?? 0 }

    /// Inserts the entry, unless it is known or there is no space.
    mutating func insert(_ entry: LogEntry<Event>, limit: Int, bytesOfOtherIncarnations: Int = 0) {
        let place = entries.firstIndex { $0.sequence >= entry.sequence } ?? entries.count
        guard place == entries.count || entries[place].sequence != entry.sequence else { return }
        entries.insert(entry, at: place)
        byteCount += Int(entry.byteCount)
        // The entry next to the gap is the most useful: it is kept unless other incarnations take the space.
        let countMin = bytesOfOtherIncarnations > 0 ? 0 : 1
        while entries.count > limit
            || (byteCount + bytesOfOtherIncarnations > Self.bytesMax && entries.count > countMin)
        {
            byteCount -= Int(entries.removeLast().byteCount)
        }
    }

    mutating func move(to slot: Int) { entries = entries.map { $0.moved(to: slot) } }

    /// Removes and returns the entry with that sequence, and drops earlier ones.
    mutating func next(_ sequence: UInt64) -> LogEntry<Event>? {
        if entries.isEmpty { return nil }
        let passed = entries.prefix { $0.sequence < sequence }.count
        for entry in entries.prefix(passed) { byteCount -= Int(entry.byteCount) }
        if passed > 0 { entries.removeFirst(passed) }
        guard entries.first?.sequence == sequence else { return nil }
        byteCount -= Int(entries[0].byteCount)
        return entries.removeFirst()
    }
}
