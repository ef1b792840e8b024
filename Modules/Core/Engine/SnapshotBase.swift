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
    /// The last sequence that the base includes of each source that hasn't been met yet, by the reference's keys.
    var unmet: [String: UInt64]
    /// The number of events in the base by an earlier incarnation of the local peer; 0 once its name is known.
    var earlierEventCount: UInt64
    /// The stamp at which the snapshot was made. Peers may place events up to then before some in the base.
    let madeAt: HybridTimestamp
}

extension SessionSyncEngine {
    /// True if the caller uses only the reference's calls and persists nothing.
    var isClassic: Bool { isReferenceOnly && !sealed && groupName == nil && !hasPersisted && !options.catchesUpLater }

    /// The last sequence held of each source, as events or in the base.
    var heldVector: [String: UInt64] {
        guard let snapshotBase else { return sources.referenceVector }
        return sources.referenceVector.merging(snapshotBase.unmet) { max($0, $1) }
    }

    var shownEarlierEventCount: UInt64 {
        max(provisional?.earlierEventCount ?? 0, snapshotBase?.earlierEventCount ?? 0)
    }

    /// True if a snapshot must become the base: its events can't come any more, or this engine has such a base already.
    func becomesBase(_ included: [String: UInt64], _ earlierEventCount: UInt64, _ shown: [String: UInt64]) -> Bool {
        guard isClassic else { return false }
        // The state includes events of this peer's ended processes, which can't send them any more.
        if skipped > 0 || earlierEventCount > shownEarlierEventCount { return true }
        if included.contains(where: { isEarlierIncarnation($0.key) && $0.value > shown[$0.key] ?? 0 }) { return true }
        // Later events of a source have come, so the included ones won't.
        for (slot, gap) in gaps {
            if let first = gap.first, first.sequence - 1 <= included[sources.vectorKey(slot)] ?? 0 { return true }
        }
        // An engine with such a base may order events differently from its peer.
        return snapshotBase != nil
    }

    /// True if this engine takes the snapshot's state where both states include the same events. An engine with an
    /// ordered state keeps it. Any other takes an ordered state, and any state while no snapshot carries its own.
    /// Otherwise the later snapshot wins.
    func yields(to snapshot: SnapshotCarrier) -> Bool {
        guard !isOrdered else { return false }
        guard let carrier, !snapshot.isOrdered else { return true }
        return carrier.precedes(snapshot)
    }

    /// True if the shown state is the result of its events in their order.
    var isOrdered: Bool { provisional == nil && snapshotBase == nil || carrier?.isOrdered == true }

    /// The snapshot that brought the shown state here, or carried it to the peers; nil if there is none.
    var carrier: SnapshotCarrier? {
        guard let lastCarrier, lastCarrier.count == countOfShown else { return nil }
        return lastCarrier
    }

    /// The number of events that the shown state includes. The vector only grows, so two equal counts mean one vector.
    var countOfShown: UInt64 { shownVector.values.reduce(shownEarlierEventCount, &+) }

    /// True if the caller must publish the shown state: no snapshot carries it, or it includes an earlier incarnation
    /// of this peer and only a peer's snapshot carries it. That peer may have been launched again since.
    @usableFromInline var needsPublishing: Bool {
        guard let snapshotBase, isClassic else { return false }
        let isOfEarlierIncarnation =
            snapshotBase.earlierEventCount > 0 || snapshotBase.unmet.keys.contains { isEarlierIncarnation($0) }
        return carrier == nil || isOfEarlierIncarnation && carrier?.peerID != localPeerID
    }

    /// True if a snapshot's state includes all that can't be replayed on top of it: the base's events, and those of its
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

    /// Takes the name of the earlier incarnation from a vector in which a peer names it.
    mutating func resolveEarlierIncarnation(by included: [String: UInt64]) {
        guard let count = snapshotBase?.earlierEventCount, count > 0,
            let name = included.filter({
                isEarlierIncarnation($0.key) && $0.value >= count && snapshotBase?.unmet[$0.key] == nil
            }).min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        else { return }
        snapshotBase?.unmet[name.key] = count
        snapshotBase?.earlierEventCount = 0
    }

    /// Tags that name the incarnation of each bare ID in a vector, because the caller's metadata may not.
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

    /// Replaces a vector's names of incarnations with the names used here.
    /// - Returns: false if an incarnation in the snapshot has no name here yet. The snapshot is then stale: the events
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
        // The author knows a later incarnation of a peer, so its vector names the one that has the bare ID here.
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

    /// Recognizes a later incarnation: its event is newer than the base but has a sequence that the base includes.
    mutating func detectLaterIncarnation(in metadata: SessionSyncMetadata) {
        guard let snapshotBase, metadata.sequence <= snapshotBase.unmet[metadata.sourcePeerID] ?? 0,
            metadata.causalTimestamp.millisecondsSince1970 > snapshotBase.madeAt.milliseconds
        else { return }
        separateEarlierIncarnation(from: SessionSource(metadata))
    }

    func isEarlierIncarnation(_ key: String) -> Bool { key.hasPrefix("\(localPeerID)/") }
}

/// The facts about a snapshot that decide which of two states is taken.
struct SnapshotCarrier: Sendable {
    let revision: UInt64
    let peerID: String
    /// True if the state is the result of its events in their order.
    let isOrdered: Bool
    /// The number of events that the state includes.
    var count: UInt64

    /// True if the other snapshot is later: its revision is higher, or equal with a lower peer ID.
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
    /// - Returns: the peer's tag, as the snapshot's author states it.
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
    /// The latest stamp that a snapshot's state may include. Without a stamp, the author's wall clock decides.
    var madeAt: HybridTimestamp {
        stamp == .zero ? HybridTimestamp(milliseconds: causalTimestamp.millisecondsSince1970, counter: .max) : stamp
    }
}
