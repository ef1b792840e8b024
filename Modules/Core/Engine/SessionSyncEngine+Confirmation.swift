public import MeshFoundation
public import MeshIdentity

// Confirmation makes an event's place final, in three steps: below the cut, acknowledged by all members, persisted by
// the caller (rules 3, 4 and 11 of Docs/Internals/Convergence.md).
//
// The cut is a stability cut as in Birman, Schiper, Stephenson: *Lightweight Causal and Atomic Group Multicast* (1991).

/// A confirmed entry that the caller hasn't been given, or whose side effect isn't marked as done.
@usableFromInline
struct ConfirmedEntry<Event: Sendable>: Sendable {
    @usableFromInline var position: UInt64
    @usableFromInline var entry: LogEntry<Event>

    @inlinable
    init(position: UInt64, entry: LogEntry<Event>) {
        self.position = position
        self.entry = entry
    }
}

extension SessionSyncEngine {
    /// Moves the cut, and confirms the acknowledged events below it (rule 3 of Docs/Internals/Convergence.md).
    ///
    /// The cut is the lowest of the members' promises that count. No event will come at or below it, so the order of
    /// the held events there is final. It stays at zero while unsealed.
    @inlinable
    mutating func advance() {
        guard sealed else { return }
        moveCut()
        if settledCount < log.reducedCount, log.entries[settledCount].stamp.rawValue <= cutStamp.rawValue {
            confirm()
        }
    }

    @inlinable
    mutating func moveCut() {
        guard sealed else { return }
        let cut = lowestPromise()
        if cut.rawValue > cutStamp.rawValue { cutStamp = cut }
    }

    /// The lowest promise of all members. O(members). Mutating, so that the engine isn't copied.
    @inlinable
    mutating func lowestPromise() -> HybridTimestamp {
        let others = sources.lowestPromise.rawValue
        guard sources.records[0].isOpen else { return HybridTimestamp(rawValue: others) }
        return HybridTimestamp(rawValue: min(others, clock.latest.rawValue, frozenAt))
    }

    /// Confirms the prefix of the order that lies below the cut and that every open member holds. Confirms nothing
    /// while a member has forked: the events that it acknowledges may be other events under the same names.
    @inlinable
    mutating func confirm() {
        guard !hasForkedMember else { return }
        while settledCount < log.reducedCount, log.entries[settledCount].stamp.rawValue <= cutStamp.rawValue {
            let slot = log.entries[settledCount].slot
            guard
                isAcknowledged(slot, log.entries[settledCount].sequence),
                settledCount - announcedCount + due.count < options.confirmedMax
            else { return }
            if slot == 0 {
                ownUnconfirmed -= 1
                ownUnconfirmedBytes -= bytes(of: log.entries[settledCount])
            }
            settledCount += 1
        }
    }

    /// True if every open member holds the event: the author and this engine do, and all others have acknowledged it.
    @inlinable
    mutating func isAcknowledged(_ source: Int, _ sequence: UInt64) -> Bool {
        sequence <= sources.records[source].heldByAll || sequence <= sources.countHeldByAll(source)
    }

    /// True if the next `takeDirectives` returns more confirmed events.
    package var hasMoreConfirmed: Bool { announcedCount < settledCount }

    /// Returns the events confirmed since the last call. They count as confirmed from this call on: the caller persists
    /// that before it acts on them. Until then the entries stay in the log.
    @inlinable
    mutating func announce() -> [SessionConfirmedEvent<Event>] {
        guard announcedCount < settledCount else { return [] }
        let end = announcedCount + min(settledCount - announcedCount, options.confirmedAtOnce)
        var events: [SessionConfirmedEvent<Event>] = []
        events.reserveCapacity(end - announcedCount)
        while announcedCount < end {
            let entry = log.entries[announcedCount]
            let known = ConfirmedEntry(position: confirmationChain.position, entry: entry)
            confirmationChain.append(digest(entry))
            announcedCount += 1
            if let event = Self.confirmed(known, interpreter, sources, epochTag) { events.append(event) }
            if options.keepsSideEffects, !entry.isReplacement { due.append(known) }
        }
        pending.changesMembership = true
        return events
    }

    /// The contribution of an entry to the chain. Mutating, so that the engine isn't copied.
    @inlinable
    mutating func digest(_ entry: LogEntry<Event>) -> UInt64 {
        var digest = entry.stamp.rawValue ^ sources[entry.slot].digest &* 31 &+ entry.sequence
        if let id = entry.eventID {
            digest ^= withUnsafeBytes(of: id.uuid) { $0.loadUnaligned(as: UInt64.self).littleEndian } &* 17
        }
        if let eventDigest = options.eventDigest, case .event(let event) = entry.content {
            digest ^= eventDigest(event) &* 13
        }
        return digest
    }

    /// Moves the base to a checkpoint at or before the confirmed position (rule 4). So all members have acknowledged
    /// folded events, and none will request them. The base stays before an event that this version can't read, while
    /// the log is short enough.
    @inlinable
    mutating func foldConfirmed() {
        guard log.marks.count > 1 else { return }
        var count = log.foldable(upTo: announcedCount)
        if count > 0, log.entries.count < min(options.ownUnconfirmedMax, Self.unreadLogMax),
            let opaque = log.entries[..<count].firstIndex(where: { $0.isOpaque })
        {
            count = log.foldable(upTo: opaque)
        }
        // Each fold moves the remaining entries, so it must free at least a quarter of the log.
        while count > 0, count * 4 >= log.entries.count {
            guard splitsSource(count) else { return fold(count) }
            count = log.foldable(upTo: count - 1)
        }
    }

    /// True if the first `count` entries have a later event of a source than the rest. A store keeps what is above the
    /// base by sequence, so such a fold would lose the earlier event. The stamps of a source may fall while it isn't a
    /// member.
    @usableFromInline
    func splitsSource(_ count: Int) -> Bool {
        var highest = [UInt64](repeating: 0, count: sources.records.count)
        for entry in log.entries[..<count] { highest[entry.slot] = max(highest[entry.slot], entry.sequence) }
        return log.entries[count...].contains { $0.sequence < highest[$0.slot] }
    }

    /// Maximum number of entries in the log while it keeps an event that this version can't read.
    @inlinable static var unreadLogMax: Int { 4096 }

    @inlinable
    mutating func fold(_ count: Int) {
        for index in 0..<count {
            let (slot, sequence) = (log.entries[index].slot, log.entries[index].sequence)
            sources[slot].folded = max(sources[slot].folded, sequence)
        }
        log.fold(count, by: interpreter, sources: sources)
        settledCount = max(0, settledCount - count)
        announcedCount = max(0, announcedCount - count)
        pending.movesBase = true
    }

    @inlinable
    mutating func noteLastStamps() {
        for entry in log.entries {
            sources[entry.slot].lastStamp = max(sources[entry.slot].lastStamp, entry.stamp)
        }
    }

    mutating func recountOwn() {
        (ownUnconfirmed, ownUnconfirmedBytes) = (0, 0)
        for index in log.entries.indices.dropFirst(settledCount) where log.entries[index].slot == 0 {
            // A copy, because passing the log's entry to a method of this engine would copy the whole log.
            var entry = log.entries[index]
            weigh(&entry)
            log.entries[index].byteCount = entry.byteCount
            countOwn(entry)
        }
    }
}

/// A running 64-bit fingerprint of the confirmed events: members that confirmed the same prefix have the same value
/// (rule 11 of Docs/Internals/Convergence.md).
///
/// It finds mistakes, but doesn't protect against a hostile peer.
public struct ConfirmationChain: Hashable, Sendable, Codable {
    /// The number of events that the fingerprint covers.
    @usableFromInline package private(set) var position: UInt64 = 0
    /// The fingerprint of the covered events in their order; 0 before the first.
    package private(set) var value: UInt64 = 0
    /// The values at the last few multiples of 32, for comparison with a peer at another position.
    package private(set) var milestones: [Milestone] = []

    /// The chain's value at an earlier position.
    public struct Milestone: Hashable, Sendable, Codable {
        /// A multiple of ``ConfirmationChain/interval``.
        @usableFromInline package var position: UInt64
        /// The fingerprint at that position.
        package var value: UInt64
    }

    /// Number of events from one milestone to the next.
    package static let interval: UInt64 = 32
    /// Maximum number of milestones that are kept.
    package static let milestonesMax = 8

    /// Creates an empty chain.
    package init() {}

    /// Creates an empty chain that starts after `position` events.
    package init(position: UInt64) { self.position = position }

    @usableFromInline
    mutating func append(_ digest: UInt64) {
        value = (value &+ 0x9e37_79b9_7f4a_7c15 ^ digest) &* 0xff51_afd7_ed55_8ccd
        value ^= value >> 32
        position += 1
        guard position.isMultiple(of: Self.interval) else { return }
        if milestones.count == Self.milestonesMax { milestones.removeFirst() }
        milestones.append(Milestone(position: position, value: value))
    }

    /// Compares the chain's value at a position; nil if it isn't known.
    func agrees(at position: UInt64, with value: UInt64) -> Bool? { self.value(at: position).map { $0 == value } }

    /// The chain's value at a position; nil if it isn't known any more.
    func value(at position: UInt64) -> UInt64? {
        position == self.position ? value : milestones.first { $0.position == position }?.value
    }
}

/// Confirmed entries whose side effects haven't been marked as done, oldest first.
@usableFromInline
struct DueEffects<Event: Sendable>: Sendable {
    /// A slice, which can drop its beginning without moving the rest.
    @usableFromInline var entries: ArraySlice<ConfirmedEntry<Event>> = []
    /// The number of entries, from the first on, that are in the store, or that the caller has been asked to write.
    private var persistedCount = 0
    /// The number of stored entries that have been marked since the last `takeChanges`.
    private var markedCount = 0

    init() {}

    /// Creates the list from the entries in a store.
    init(stored: [ConfirmedEntry<Event>]) {
        entries = stored[...]
        persistedCount = entries.count
    }

    @inlinable var count: Int { entries.count }

    @usableFromInline
    mutating func append(_ entry: ConfirmedEntry<Event>) { entries.append(entry) }

    /// Drops the first entry at a position, and all before it. In a rejoined group positions may begin again, so an
    /// earlier entry can have a higher one. Without an entry at the position, drops the first ones up to it.
    /// Complexity: O(number of dropped entries), or O(entries) without an entry at the position.
    /// - Returns: the number of dropped entries.
    mutating func mark(through position: UInt64) -> Int {
        let place = entries.firstIndex { $0.position == position }
        let count =
            place.map { $0 + 1 - entries.startIndex } ?? entries.prefix { $0.position <= position }.count
        entries = entries.dropFirst(count)
        if entries.isEmpty { entries = [] }
        let known = min(count, persistedCount)
        persistedCount -= known
        markedCount += known
        return count
    }

    /// The changes since the last call.
    mutating func takeChanges() -> (marked: Int, added: Int) {
        defer {
            markedCount = 0
            persistedCount = entries.count
        }
        return (markedCount, entries.count - persistedCount)
    }
}
