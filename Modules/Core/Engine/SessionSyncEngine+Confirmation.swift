public import MeshFoundation
public import MeshIdentity

/// A confirmed entry that waits to be taken, or for its side effect.
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
    /// Moves the cut, confirms what lies below it and is acknowledged, and folds what is confirmed.
    ///
    /// The cut is the lowest promise of all members that counts: nothing more will come at or below it, so the order
    /// of what is held there is settled. It stays at zero while unsealed.
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

    /// O(members). Mutating so that it looks into the engine where it lies.
    @inlinable
    mutating func lowestPromise() -> HybridTimestamp {
        let others = sources.lowestPromise.rawValue
        guard sources.records[0].isOpen else { return HybridTimestamp(rawValue: others) }
        return HybridTimestamp(rawValue: min(others, clock.latest.rawValue, frozenAt))
    }

    /// Confirmed is a prefix of the order that lies below the cut and that every open member holds. Nothing is while a
    /// member is known to have forked: what it says it holds may be other events of the same names.
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

    /// Its author and this engine hold it; every other open member has to say so.
    @inlinable
    mutating func isAcknowledged(_ source: Int, _ sequence: UInt64) -> Bool {
        sequence <= sources.records[source].heldByAll || sequence <= sources.countHeldByAll(source)
    }

    /// Whether the next `takeDirectives` has more that is confirmed.
    package var hasMoreConfirmed: Bool { announcedCount < settledCount }

    /// Hands over what was confirmed since the last time. Only now does it count as such: the caller persists it before
    /// it acts on it. Until then the entries stay in the log.
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

    /// What the chain says about an entry. Mutating so that it looks into the engine where it lies.
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

    /// The base moves to a checkpoint at or before the confirmed position, never beyond: so what is folded was
    /// acknowledged, and a range is never gone for a member. It stays before an event that this version cannot read, as
    /// long as there is room.
    @inlinable
    mutating func foldConfirmed() {
        guard log.marks.count > 1 else { return }
        var count = log.foldable(upTo: announcedCount)
        if count > 0, log.entries.count < min(options.ownUnconfirmedMax, Self.unreadLogMax),
            let opaque = log.entries[..<count].firstIndex(where: { $0.isOpaque })
        {
            count = log.foldable(upTo: opaque)
        }
        // Each fold moves what remains: worth it for a good part only.
        guard count > 0, count * 4 >= log.entries.count else { return }
        fold(count)
    }

    /// Entries that wait for a version that can read one of them.
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
            weigh(&log.entries[index])
            countOwn(log.entries[index])
        }
    }
}

/// A running 64-bit fingerprint of the confirmed events: two members that confirmed the same prefix have the same.
///
/// Not against a peer who means harm: it finds mistakes.
public struct ConfirmationChain: Hashable, Sendable, Codable {
    /// How many events it covers.
    @usableFromInline package private(set) var position: UInt64 = 0
    /// The fingerprint of them in their order; 0 before the first.
    package private(set) var value: UInt64 = 0
    /// The values at the last few multiples of 32, for comparison with a peer that is not at the same position.
    package private(set) var milestones: [Milestone] = []

    /// The chain as it was at an earlier position.
    public struct Milestone: Hashable, Sendable, Codable {
        /// A multiple of ``ConfirmationChain/interval``.
        @usableFromInline package var position: UInt64
        /// The fingerprint at that position.
        package var value: UInt64
    }

    /// Events from one milestone to the next.
    package static let interval: UInt64 = 32
    /// Milestones that are kept; older ones are forgotten.
    package static let milestonesMax = 8

    /// The chain of no events.
    package init() {}

    /// Begins anew after that many events.
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

    /// nil when there is nothing to compare.
    func agrees(at position: UInt64, with value: UInt64) -> Bool? { self.value(at: position).map { $0 == value } }

    /// The fingerprint of the first events; nil when it is not known any more.
    func value(at position: UInt64) -> UInt64? {
        position == self.position ? value : milestones.first { $0.position == position }?.value
    }
}

/// Confirmed entries whose side effects have not been marked, oldest first, and what the store knows of them.
@usableFromInline
struct DueEffects<Event: Sendable>: Sendable {
    /// A slice, because it gives up its beginning without moving the rest.
    @usableFromInline var entries: ArraySlice<ConfirmedEntry<Event>> = []
    /// So many of the first ones are in the store, or the caller has been told to write them.
    private var toldCount = 0
    /// So many of those have been marked since the caller was told.
    private var markedCount = 0
    /// Positions rise, unless this store goes on as another source after a fork and counts anew.
    private var isOrdered = true

    init() {}

    /// Those that a store has.
    init(stored: [ConfirmedEntry<Event>]) {
        for entry in stored { append(entry) }
        toldCount = entries.count
    }

    @inlinable var count: Int { entries.count }

    @usableFromInline
    mutating func append(_ entry: ConfirmedEntry<Event>) {
        if let last = entries.last, last.position >= entry.position { isOrdered = false }
        entries.append(entry)
    }

    /// Forgets everything up to a position. Complexity: O(what is forgotten).
    /// - Returns: nil when the store has to write all of them again, else how many were forgotten.
    mutating func mark(through position: UInt64) -> Int? {
        guard isOrdered else { return markUnordered(through: position) }
        let count = entries.prefix { $0.position <= position }.count
        entries = entries.dropFirst(count)
        if entries.isEmpty { entries = [] }
        let known = min(count, toldCount)
        toldCount -= known
        markedCount += known
        return count
    }

    private mutating func markUnordered(through position: UInt64) -> Int? {
        let before = entries.count
        entries.removeAll { $0.position <= position }
        guard entries.count < before else { return 0 }
        if entries.isEmpty { isOrdered = true }
        (toldCount, markedCount) = (entries.count, 0)
        return nil
    }

    /// What has changed since the last time.
    mutating func takeChanges() -> (marked: Int, added: Int) {
        defer {
            markedCount = 0
            toldCount = entries.count
        }
        return (markedCount, entries.count - toldCount)
    }
}
