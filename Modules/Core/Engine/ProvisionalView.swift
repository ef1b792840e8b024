import MeshIdentity

/// What an unsealed engine shows while it knows a peer's state but not the events that led there.
///
/// Display only: the state of a snapshot that brings no copy, and on top of it the events that it says it lacks. It goes
/// when everything that it includes is held, or when the engine seals; or it becomes the base (`SnapshotBase`).
@usableFromInline
struct ProvisionalView<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    @usableFromInline var log: EventLog<State, Event>
    /// What is shown of each source, by the reference's keys.
    var vector: [String: UInt64]
    /// How many events of an earlier life of the local peer are shown; the peer that showed them knows its name.
    var earlierLife: UInt64 = 0
    /// When the snapshot was made, as a stamp.
    var madeAt: HybridTimestamp
}

extension SessionSyncEngine {
    /// What the shown state includes, and what peers are to know of it.
    var visibleVector: [String: UInt64] {
        var vector = shownVector
        for tag in livesTags(for: vector) { vector[tag.key] = 0 }
        if isClassic, !isOrdered { vector[SnapshotCarrier.mark(of: localPeerID)] = 0 }
        return vector
    }

    /// What the shown state includes.
    var shownVector: [String: UInt64] {
        guard let provisional else { return heldVector }
        return heldVector.merging(provisional.vector) { max($0, $1) }
    }

    /// Shows a peer's state and replays on top of it what it lacks of the local log.
    mutating func show(
        _ snapshot: SessionSyncSnapshot<State>, including included: [String: UInt64], _ earlierLife: UInt64,
        asBase: Bool
    ) {
        let madeAt = snapshot.metadata.madeAt
        var view = ProvisionalView<State, Event>(
            log: EventLog(base: ReducedState(state: snapshot.state)), vector: included, earlierLife: earlierLife,
            madeAt: madeAt)
        for entry in log.entries {
            let key = sources.vectorKey(entry.slot)
            guard entry.sequence > included[key] ?? 0 else { continue }
            view.vector[key] = entry.sequence
            view.log.entries.append(entry)
        }
        view.log.replay(by: interpreter, sources: sources)
        provisional = view
        // What the user does next comes after what the state includes.
        if isClassic, madeAt.isUsable { clock.observe(madeAt) }
        if asBase { takeShownAsBase() }
        dropProvisionalWhenHeld()
    }

    @usableFromInline
    mutating func submitProvisionally(_ event: Event, _ header: EntryHeader) throws {
        guard var view = provisional else { return }
        provisional = nil
        defer { provisional = view }
        try view.log.append(event, header, by: interpreter, sources: sources)
        view.vector[localPeerID] = header.sequence
        bound(&view.log)
    }

    /// An event while a peer's state is shown: it takes its place in the log, and on top of what is shown.
    @usableFromInline
    mutating func takeProvisionally(_ entry: LogEntry<Event>) -> SessionSyncReceiveResult<State> {
        let key = sources.vectorKey(entry.slot)
        let shown = shownVector[key] ?? 0
        let held = take(entry)
        var new = applied.map { $0.entry }
        applied = []
        let isPlaced = new.contains { $0.slot == entry.slot && $0.sequence == entry.sequence }
        // What the log refuses is not shown either.
        let isRefused = if case .ignored = held { true } else { false }
        if entry.sequence == shown + 1, !isPlaced, !isRefused { new.insert(entry, at: 0) }
        var outcome: SessionEventOutcome?
        for entry in new {
            let shownOutcome = showOnTop(entry)
            if shownOutcome != nil, outcome == nil { outcome = shownOutcome }
        }
        // Its author has gone on: what the state includes does not come as events.
        if case .snapshotRequired = held, isClassic, entry.sequence <= shownVector[key] ?? 0 { takeShownAsBase() }
        dropProvisionalWhenHeld()
        if let outcome { return result(of: outcome) }
        if case .ignored = held { return held }
        return entry.sequence <= shown
            ? .duplicate(state)
            : .snapshotRequired(expectedSequence: shown + 1, receivedSequence: entry.sequence)
    }

    /// - Returns: nil when the shown state includes it.
    private mutating func showOnTop(_ entry: LogEntry<Event>) -> SessionEventOutcome? {
        let key = sources.vectorKey(entry.slot)
        guard var view = provisional, entry.sequence > view.vector[key] ?? 0 else { return nil }
        provisional = nil
        let place = view.log.place(of: entry, in: sources)
        let (outcome, replayed) = view.log.insert(entry, at: place, by: interpreter, sources: sources)
        view.vector[key] = entry.sequence
        bound(&view.log)
        provisional = view
        // It is seen: what the user does next comes after it.
        observe(entry.stamp, of: entry.slot)
        applied.append(AppliedEntry(entry: entry, outcome: outcome, replayedCount: replayed))
        return outcome
    }

    private mutating func dropProvisionalWhenHeld() {
        // Events that were skipped are in the shown state only.
        guard let provisional, skipped == 0 else { return }
        guard provisional.earlierLife <= taken?.earlierLife ?? 0 else { return }
        let held = heldVector
        if provisional.vector.allSatisfy({ held[$0.key] ?? 0 >= $0.value }) { self.provisional = nil }
    }

    private func bound(_ log: inout EventLog<State, Event>) {
        guard log.entries.count > options.ownUnconfirmedMax else { return }
        let count = log.foldable(upTo: log.entries.count / 2)
        if count > 0 { log.fold(count, by: interpreter, sources: sources) }
    }
}
