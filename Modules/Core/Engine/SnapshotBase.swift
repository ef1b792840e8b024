import MeshIdentity

/// The part of an engine's base that is known only from a peer's snapshot ("A snapshot as the base" in
/// Docs/Internals/Convergence.md).
///
/// An app that uses the reference's calls and keeps nothing asks for a snapshot after a launch. It then has none of the
/// events that the snapshot includes, and they won't come. Its engine makes the state its base, counts what it includes
/// as held, and puts later events above it in their order. Own events that the state lacks stay in the log, under their
/// names and IDs.
///
/// Engines with such bases may order events that were concurrent with the snapshot differently. So where two states
/// include the same, one of the engines takes the other's: see `yields(to:)`.
struct SnapshotBase: Sendable {
    /// The last included sequence of each source of which no event has come, by the reference's keys.
    var unmet: [String: UInt64]
    /// The number of events of an earlier incarnation of the local peer that the base includes, while its name isn't
    /// known here.
    var earlierEventCount: UInt64
    /// The stamp at which the snapshot was made. A peer may have ordered events up to then before some that the base includes.
    let madeAt: HybridTimestamp
}

extension SessionSyncEngine {
    /// True if the caller uses only the reference's calls, and keeps nothing of what the engine holds.
    var isClassic: Bool { isReferenceOnly && !sealed && groupName == nil && !hasPersisted && !options.catchesUpLater }

    /// The last sequence held of each source, as events or in the base.
    var heldVector: [String: UInt64] {
        guard let snapshotBase else { return sources.referenceVector }
        return sources.referenceVector.merging(snapshotBase.unmet) { max($0, $1) }
    }

    var shownEarlierEventCount: UInt64 {
        max(provisional?.earlierEventCount ?? 0, snapshotBase?.earlierEventCount ?? 0)
    }

    /// True if the snapshot's events can't come any more, or if a base of an earlier snapshot may differ from its state.
    func becomesBase(_ included: [String: UInt64], _ earlierEventCount: UInt64, _ shown: [String: UInt64]) -> Bool {
        guard isClassic else { return false }
        // A process that has ended sends nothing.
        if skipped > 0 || earlierEventCount > shownEarlierEventCount { return true }
        if included.contains(where: { isEarlierIncarnation($0.key) && $0.value > shown[$0.key] ?? 0 }) { return true }
        // Later events of that source have come.
        for (slot, gap) in gaps {
            if let first = gap.first, first.sequence - 1 <= included[sources.vectorKey(slot)] ?? 0 { return true }
        }
        // This engine's order of events isn't the peer's: see `yields`.
        return snapshotBase != nil
    }

    /// True if the other's state is taken where both include the same. An engine with an ordered state takes none.
    /// Another engine takes an ordered state, and any state while no snapshot carries its own. Otherwise the later
    /// snapshot wins.
    func yields(to snapshot: SnapshotCarrier) -> Bool {
        guard !isOrdered else { return false }
        guard let carrier, !snapshot.isOrdered else { return true }
        return carrier.precedes(snapshot)
    }

    /// True if the shown state is the result of its events in their order.
    var isOrdered: Bool { provisional == nil && snapshotBase == nil || carrier?.isOrdered == true }

    /// The snapshot that brought the shown state here, or carried it to the peers.
    var carrier: SnapshotCarrier? {
        guard let lastCarrier, lastCarrier.count == countOfShown else { return nil }
        return lastCarrier
    }

    /// The number of events that the shown state includes. The vector only grows, so two equal counts mean one vector.
    var countOfShown: UInt64 { shownVector.values.reduce(shownEarlierEventCount, &+) }

    /// True if the caller must publish the shown state: no snapshot carries it, or only a peer's. That peer, like this
    /// app, may have been launched again since.
    @usableFromInline var needsPublishing: Bool {
        guard let snapshotBase, isClassic else { return false }
        let isOfEarlierIncarnation =
            snapshotBase.earlierEventCount > 0 || snapshotBase.unmet.keys.contains { isEarlierIncarnation($0) }
        return carrier == nil || isOfEarlierIncarnation && carrier?.peerID != localPeerID
    }

    /// True if the state includes all that can't be put on top of it: what the base includes, and the events of its
    /// author's earlier incarnations. An author that was launched again may include those without knowing the
    /// incarnation's name.
    func keepsBase(_ included: [String: UInt64], _ earlierEventCount: UInt64, from author: String) -> Bool {
        guard isClassic else { return true }
        for slot in sources.indices {
            let key = sources.vectorKey(slot)
            let isAuthors = sources[slot].source.peerID == author && key != author
            let needed = isAuthors ? sources[slot].held : sources[slot].folded
            if needed > included[key] ?? 0 { return false }
        }
        guard let snapshotBase else { return true }
        return snapshotBase.unmet.allSatisfy { $0.value <= included[$0.key] ?? 0 }
            && (earlierEventCount >= snapshotBase.earlierEventCount
                || included.contains { isEarlierIncarnation($0.key) && $0.value >= snapshotBase.earlierEventCount })
    }

    /// Makes the shown state the base, with the events on top of it as the log.
    mutating func takeShownAsBase() {
        guard let view = provisional else { return }
        log = EventLog(base: view.log.base)
        log.entries = view.log.entries.sorted { EventLog<State, Event>.precedes($0, $1, in: sources) }
        log.replay(by: interpreter, sources: sources)
        var unmet = view.vector.mapValues { min($0, SequenceBounds.hearsay) }
        for slot in sources.indices {
            let included = unmet.removeValue(forKey: sources.vectorKey(slot)) ?? 0
            sources[slot].held = max(sources[slot].held, included)
            sources[slot].folded = sources[slot].held
        }
        for entry in log.entries.reversed() { sources[entry.slot].folded = entry.sequence - 1 }
        snapshotBase = SnapshotBase(unmet: unmet, earlierEventCount: view.earlierEventCount, madeAt: view.madeAt)
        provisional = nil
        skipped = 0
        recountOwn()
        pending.replaceEverything()
        for slot in gaps.keys.sorted() { drainGap(slot) }
    }

    /// Moves what the base includes of a source into its record when the source is first met.
    mutating func meet(_ slot: Int) {
        let source = sources[slot].source
        guard
            let included = snapshotBase?.unmet.removeValue(forKey: source.description)
                ?? snapshotBase?.unmet.removeValue(forKey: source.peerID)
        else { return }
        sources[slot].held = included
        sources[slot].folded = included
    }

    /// Names the earlier incarnation as a peer does.
    mutating func resolveEarlierIncarnation(by included: [String: UInt64]) {
        guard let count = snapshotBase?.earlierEventCount, count > 0,
            let name = included.filter({
                isEarlierIncarnation($0.key) && $0.value >= count && snapshotBase?.unmet[$0.key] == nil
            }).min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        else { return }
        snapshotBase?.unmet[name.key] = count
        snapshotBase?.earlierEventCount = 0
    }

    /// Tags that name the incarnation behind each bare ID in a vector, because metadata from the caller doesn't.
    func incarnationTags(for vector: [String: UInt64]) -> [IncarnationTag] {
        guard isClassic || shownEarlierEventCount > 0 else { return [] }
        return sources.indices.compactMap { slot in
            let source = sources[slot].source
            guard source.incarnation != 0, sources.vectorKey(slot) == source.peerID else { return nil }
            let earlier =
                slot == 0
                ? shownEarlierEventCount : peerIncarnationTag?.latest == source ? peerIncarnationTag?.earlier ?? 0 : 0
            return earlier > 0 || vector[source.peerID] ?? 0 > 0
                ? IncarnationTag(latest: source, earlier: earlier) : nil
        }
    }

    /// Replaces the names of incarnations in a vector by those used here.
    /// - Returns: false if the snapshot counts events of an incarnation that has no name here yet, because its events
    ///   will come.
    mutating func normalizeIncarnations(in included: inout [String: UInt64], by tag: IncarnationTag?) throws -> Bool {
        if let tag {
            let isShownOnly = snapshotBase == nil && provisional?.vector[tag.latest.peerID] != nil
            if isShownOnly, sources.incarnationCount(of: tag.latest.peerID) == 0 { return false }
            if sources.slot(of: tag.latest) == nil {
                if tag.earlier > 0 { separateEarlierIncarnation(from: tag.latest) }
                try meet(tag.latest)
            }
            let earlier = sources.indices.last { slot in
                let source = sources[slot].source
                return source.peerID == tag.latest.peerID && source != tag.latest && sources[slot].held >= tag.earlier
            }
            if tag.earlier > 0, let key = earlier.map(sources.vectorKey) {
                included[key] = max(included[key] ?? 0, tag.earlier)
            }
        }
        // The author knows of a later incarnation, and has a name for the one that is the latest here.
        for slot in sources.indices.dropFirst() {
            let source = sources[slot].source
            guard sources.vectorKey(slot) == source.peerID, let count = included.removeValue(forKey: source.description)
            else { continue }
            guard included.updateValue(count, forKey: source.peerID) == nil else { return false }
        }
        return true
    }

    /// Assigns what the base includes under that peer's bare ID to an earlier incarnation.
    mutating func separateEarlierIncarnation(from latest: SessionSource) {
        guard let count = snapshotBase?.unmet.removeValue(forKey: latest.peerID) else { return }
        peerIncarnationTag = IncarnationTag(latest: latest, earlier: count)
        lastCarrier?.count &-= count
    }

    /// Recognizes a later incarnation: its event was written after the base, with a sequence that the base includes.
    mutating func detectLaterIncarnation(in metadata: SessionSyncMetadata) {
        guard let snapshotBase, metadata.sequence <= snapshotBase.unmet[metadata.sourcePeerID] ?? 0,
            metadata.causalTimestamp.millisecondsSince1970 > snapshotBase.madeAt.milliseconds
        else { return }
        separateEarlierIncarnation(from: SessionSource(metadata))
    }

    func isEarlierIncarnation(_ key: String) -> Bool { key.hasPrefix("\(localPeerID)/") }
}

/// The snapshot that carries a state.
struct SnapshotCarrier: Sendable {
    let revision: UInt64
    let peerID: String
    /// True if the state is the result of its events in their order.
    let isOrdered: Bool
    /// The number of events that the state includes.
    var count: UInt64

    /// Orders by revision. Of equal revisions, that of the lower peer ID is later.
    func precedes(_ other: Self) -> Bool { (revision, other.peerID) < (other.revision, peerID) }

    /// The key in a vector that marks its state as not ordered, with the number 0.
    static func mark(of peerID: String) -> String { "\(peerID)/unordered" }
}

/// A vector's tag for a bare ID: the incarnation that it means, and the number of included events of an earlier
/// incarnation whose name isn't known. The value of its key is 0, so versions that can't read it ignore it.
struct IncarnationTag: Sendable {
    let latest: SessionSource
    let earlier: UInt64

    var key: String { "\(latest)+\(earlier)" }

    /// Removes a peer's tag from a vector.
    /// - Returns: the peer's tag, as stated by itself or as the snapshot's author has heard.
    static func take(of peerID: String, outOf vector: inout [String: UInt64]) -> IncarnationTag? {
        guard let key = vector.filter({ $0.value == 0 && $0.key.hasPrefix("\(peerID)/") }).keys.min() else {
            return nil
        }
        vector[key] = nil
        let numbers = key.dropFirst(peerID.count + 1).split(separator: "+").compactMap { UInt64($0) }
        guard numbers.count == 2, let name = UInt32(exactly: numbers[0]), numbers[1] <= SequenceBounds.hearsay else {
            return nil
        }
        return IncarnationTag(latest: SessionSource(peerID: peerID, incarnation: name), earlier: numbers[1])
    }
}

extension SessionSyncMetadata {
    /// The latest stamp that a snapshot's state may include. Without a stamp, it follows from its author's clock.
    var madeAt: HybridTimestamp {
        stamp == .zero ? HybridTimestamp(milliseconds: causalTimestamp.millisecondsSince1970, counter: .max) : stamp
    }
}
