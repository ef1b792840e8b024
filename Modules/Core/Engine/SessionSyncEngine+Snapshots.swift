public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Takes a peer's complete state, without the events that led to it, if it includes more than the local one.
    ///
    /// A sealed engine keeps its state, and requests the events that it lacks. While unsealed, the vectors of the two
    /// states decide. A state that includes more is shown, with the local events that it lacks replayed on top. One
    /// that includes less is stale. Of two shown states that include the same, the higher revision wins, then the lower
    /// peer ID. Once the events themselves are held, their order decides. For a caller that persists nothing, a state
    /// whose events can't come any more becomes the base (`SnapshotBase`).
    ///
    /// - Throws: the errors of `receive`, and `SessionSyncError.sessionEnded` while unsealed. Nothing changes then.
    public mutating func applySnapshot(_ snapshot: SessionSyncSnapshot<State>) throws -> SessionSyncSnapshotResult<
        State
    > {
        let metadata = snapshot.metadata
        try check(metadata, payloadType: snapshotPayloadType)
        // A snapshot that the operating system delivers late must not revive an ended session.
        if !sealed { try checkNotEnded() }
        try snapshot.checkNumbers()
        var included = snapshot.includedSequences
        guard included.count <= SessionSyncStore<State>.sourcesMax else {
            throw SessionSyncError.tooManySources(limit: SessionSyncStore<State>.sourcesMax)
        }
        forgetApplied()
        let isOrdered = included.removeValue(forKey: SnapshotCarrier.mark(of: metadata.sourcePeerID)) == nil
        let ownTag = IncarnationTag.take(of: localPeerID, outOf: &included)
        let authorsTag = IncarnationTag.take(of: metadata.sourcePeerID, outOf: &included)
        included = included.filter { $0.value > 0 }
        if isClassic, try !normalizeIncarnations(in: &included, by: authorsTag) {
            return .staleIgnored(state: state, currentRevision: snapshotRevision)
        }
        let earlierEventCount = removeEarlierIncarnation(from: &included, ownTag)
        resolveEarlierIncarnation(by: included)
        let shown = shownVector
        let carrier = SnapshotCarrier(
            revision: snapshot.revision, peerID: metadata.sourcePeerID, isOrdered: isOrdered,
            count: included.values.reduce(earlierEventCount, &+))
        let includesMore =
            included.contains { $0.value > shown[$0.key] ?? 0 } || earlierEventCount > shownEarlierEventCount
            || authorsTag?.earlier ?? 0 > peerIncarnationTag?.earlier ?? .max
        let includesLess = shown.contains { $0.value > included[$0.key] ?? 0 }

        if sealed {
            if includesMore, hears(metadata.sourcePeerID) { pending.controls.insert(metadata.sourcePeerID) }
            return .staleIgnored(state: state, currentRevision: snapshotRevision)
        }
        catchUp()
        // Neither state includes more. A snapshot may replace a peer's shown state, but not the state of held events.
        let isTie =
            !includesMore && !includesLess
            && (isClassic ? yields(to: carrier) : provisional != nil && isPreferred(snapshot))
        guard includesMore || isTie, keepsBase(included, earlierEventCount, from: metadata.sourcePeerID) else {
            let revision = snapshotRevision
            if !includesLess || isClassic { follow(snapshot.revision) }
            return .staleIgnored(state: state, currentRevision: revision)
        }
        let known =
            sources.slot(of: SessionSource(metadata))
            ?? sources.records.lastIndex { $0.source.peerID == metadata.sourcePeerID }
        // Metadata made manually names no incarnation; the peer's first event does.
        let isManual = metadata.stamp == .zero && metadata.incarnation == 0
        let slot = try known ?? (isManual ? nil : slot(adding: SessionSource(metadata)))
        follow(snapshot.revision)
        peerIncarnationTag = authorsTag
        snapshotSourcePeerID = metadata.sourcePeerID
        if let slot { observe(metadata.stamp, of: slot) }
        continueSequence(after: included[localPeerID] ?? 0)
        let isBase = isTie && provisional == nil || becomesBase(included, earlierEventCount, shown)
        show(snapshot, including: included, earlierEventCount, asBase: isBase)
        lastCarrier = carrier
        return .applied(state)
    }

    /// Allocates the revision for a snapshot to send: higher than any sent or applied here.
    public mutating func allocateOutgoingSnapshotRevision() -> UInt64 {
        snapshotRevision = snapshotRevision < SequenceBounds.highest ? snapshotRevision + 1 : SequenceBounds.hearsay
        snapshotSourcePeerID = localPeerID
        // Persisted, because the next launch must not use the revision again.
        pending.changesMembership = true
        if isClassic {
            lastCarrier = SnapshotCarrier(
                revision: snapshotRevision, peerID: localPeerID, isOrdered: isOrdered, count: countOfShown)
        }
        return snapshotRevision
    }

    /// Makes a snapshot to send: the state, and the vector of events that it includes.
    public mutating func makeSnapshot(at moment: Date) -> SessionSyncSnapshot<State> {
        catchUp()
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, sequence: sources[0].held + 1,
            causalTimestamp: moment, payloadType: snapshotPayloadType,
            stamp: clock.tick(wallMilliseconds: moment.wallMilliseconds), incarnation: incarnation, epoch: epochTag)
        return SessionSyncSnapshot(
            metadata: metadata, revision: allocateOutgoingSnapshotRevision(), state: state,
            peerSequenceVector: visibleVector)
    }

    private mutating func follow(_ revision: UInt64) {
        let limit = SequenceBounds.hearsay
        snapshotRevision = max(snapshotRevision, min(revision, limit))
    }

    func isPreferred(_ snapshot: SessionSyncSnapshot<State>) -> Bool {
        if snapshot.revision != snapshotRevision { return snapshot.revision > snapshotRevision }
        return snapshot.metadata.sourcePeerID < snapshotSourcePeerID
    }

    /// Removes an earlier incarnation of the local peer from the vector. No peer can have more events of this source
    /// than it has written. So a higher number under the bare ID belongs to an earlier incarnation, whose name this
    /// engine doesn't know. So does any number there if this engine shows events of such an incarnation and the vector
    /// names none.
    /// - Returns: the number of events of that incarnation that the state includes.
    private func removeEarlierIncarnation(from included: inout [String: UInt64], _ tag: IncarnationTag?) -> UInt64 {
        guard incarnation != 0 else { return 0 }
        if let tag, isClassic {
            if tag.latest != source, let sequence = included.removeValue(forKey: localPeerID) {
                included[tag.latest.description] = sequence
            }
            return namesEarlierIncarnation(of: tag.earlier, included) ? 0 : tag.earlier
        }
        guard let sequence = included[localPeerID] else { return 0 }
        let isFromBefore =
            isClassic && shownEarlierEventCount > 0 && !included.keys.contains { isEarlierIncarnation($0) }
        guard sequence > sources[0].held || isFromBefore else { return 0 }
        included[localPeerID] = nil
        return sequence
    }

    /// True if the vector names an earlier incarnation of the local peer with at least `count` events.
    private func namesEarlierIncarnation(of count: UInt64, _ included: [String: UInt64]) -> Bool {
        included.contains { name, sequence in
            isEarlierIncarnation(name) && sequence >= count
                && (shownEarlierEventCount == 0 || snapshotBase?.unmet[name] == nil)
        }
    }

    /// Moves this source's sequence beyond what a peer has of it. Without an incarnation, a relaunched engine is the
    /// same source, and the peer doesn't have its new events.
    private mutating func continueSequence(after sequence: UInt64) {
        guard incarnation == 0, sequence > sources[0].held, sequence <= SequenceBounds.hearsay else { return }
        renumberOwn(behind: sequence)
        if sources[0].folded > 0 { sources[0].folded += sequence }
        sources[0].held += sequence
        pending.replaceEverything()
        sources[0].first = sequence + 1
        skipped = sequence
    }

    /// Renumbers own events. They keep their IDs, because the caller knows these.
    private mutating func renumberOwn(behind sequence: UInt64) {
        for index in log.entries.indices where log.entries[index].slot == 0 {
            let entry = log.entries[index]
            var header = entry.header
            header.eventID = eventID(of: entry)
            header.sequence += sequence
            log.entries[index] = entry.renamed(header)
        }
    }
}

extension SessionSyncSnapshot {
    /// The last sequence of each source that the state includes. A sender that isn't in its own vector includes its
    /// events before `sequence`, which is its next one.
    var includedSequences: [String: UInt64] {
        var included = peerSequenceVector
        if included[metadata.sourcePeerID] == nil, metadata.sequence > 1 {
            included[metadata.sourcePeerID] = metadata.sequence - 1
        }
        return included
    }
}

/// The display of an unsealed engine that knows a peer's state, but not the events that led to it (rule 9 of
/// Docs/Internals/Convergence.md).
///
/// It is the state of a snapshot that brought no copy, with the local events that it lacks on top. It ends when all
/// events that it includes are held, when the engine is sealed, or when it becomes the base (`SnapshotBase`).
@usableFromInline
struct ProvisionalView<State: Codable & Sendable, Event: Codable & Sendable>: Sendable {
    @usableFromInline var log: EventLog<State, Event>
    /// The last sequence shown of each source, by the reference's keys.
    var vector: [String: UInt64]
    /// The number of shown events of an earlier incarnation of the local peer, whose name isn't known here.
    var earlierEventCount: UInt64 = 0
    /// The stamp at which the snapshot was made.
    var madeAt: HybridTimestamp
}

extension SessionSyncEngine {
    /// The vector to publish: the sequences that the shown state includes, and tags for the peers.
    var visibleVector: [String: UInt64] {
        var vector = shownVector
        for tag in incarnationTags(for: vector) { vector[tag.key] = 0 }
        if isClassic, !isOrdered { vector[SnapshotCarrier.mark(of: localPeerID)] = 0 }
        return vector
    }

    /// The last sequence of each source that the shown state includes.
    var shownVector: [String: UInt64] {
        guard let provisional else { return heldVector }
        return heldVector.merging(provisional.vector) { max($0, $1) }
    }

    /// Shows a peer's state, with the local events that it lacks replayed on top.
    mutating func show(
        _ snapshot: SessionSyncSnapshot<State>, including included: [String: UInt64], _ earlierEventCount: UInt64,
        asBase: Bool
    ) {
        let madeAt = snapshot.metadata.madeAt
        var view = ProvisionalView<State, Event>(
            log: EventLog(base: ReducedState(state: snapshot.state)), vector: included,
            earlierEventCount: earlierEventCount,
            madeAt: madeAt)
        for entry in log.entries {
            let key = sources.vectorKey(entry.slot)
            guard entry.sequence > included[key] ?? 0 else { continue }
            view.vector[key] = entry.sequence
            view.log.entries.append(entry)
        }
        view.log.replay(by: interpreter, sources: sources)
        provisional = view
        // The next own events must come after all that the state includes.
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

    /// Takes an event while a peer's state is shown: adds it to the log and to the shown state.
    @usableFromInline
    mutating func takeProvisionally(_ entry: LogEntry<Event>) -> SessionSyncReceiveResult<State> {
        let key = sources.vectorKey(entry.slot)
        let shown = shownVector[key] ?? 0
        let held = take(entry)
        var new = applied.map { $0.entry }
        applied = []
        let isPlaced = new.contains { $0.slot == entry.slot && $0.sequence == entry.sequence }
        // An event that the log refuses isn't shown.
        let isRefused = if case .ignored = held { true } else { false }
        if entry.sequence == shown + 1, !isPlaced, !isRefused { new.insert(entry, at: 0) }
        var outcome: SessionEventOutcome?
        for entry in new {
            let shownOutcome = showOnTop(entry)
            if shownOutcome != nil, outcome == nil { outcome = shownOutcome }
        }
        // The author has continued, so the events that the state includes won't come.
        if case .snapshotRequired = held, isClassic, entry.sequence <= shownVector[key] ?? 0 { takeShownAsBase() }
        dropProvisionalWhenHeld()
        if let outcome { return result(of: outcome) }
        if case .ignored = held { return held }
        return entry.sequence <= shown
            ? .duplicate(state)
            : .snapshotRequired(expectedSequence: shown + 1, receivedSequence: entry.sequence)
    }

    /// Shows an entry on top of the shown state.
    /// - Returns: nil if the shown state includes it.
    private mutating func showOnTop(_ entry: LogEntry<Event>) -> SessionEventOutcome? {
        let key = sources.vectorKey(entry.slot)
        guard var view = provisional, entry.sequence > view.vector[key] ?? 0 else { return nil }
        provisional = nil
        let place = view.log.place(of: entry, in: sources)
        let (outcome, replayed) = view.log.insert(entry, at: place, by: interpreter, sources: sources)
        view.vector[key] = entry.sequence
        bound(&view.log)
        provisional = view
        // The user sees the event, so the next own event must come after it.
        observe(entry.stamp, of: entry.slot)
        applied.append(AppliedEntry(entry: entry, outcome: outcome, replayedCount: replayed))
        return outcome
    }

    private mutating func dropProvisionalWhenHeld() {
        // Own skipped events are only in the shown state.
        guard let provisional, skipped == 0 else { return }
        guard provisional.earlierEventCount <= snapshotBase?.earlierEventCount ?? 0 else { return }
        let held = heldVector
        if provisional.vector.allSatisfy({ held[$0.key] ?? 0 >= $0.value }) { self.provisional = nil }
    }

    private func bound(_ log: inout EventLog<State, Event>) {
        guard log.entries.count > options.ownUnconfirmedMax else { return }
        let count = log.foldable(upTo: log.entries.count / 2)
        if count > 0 { log.fold(count, by: interpreter, sources: sources) }
    }
}
