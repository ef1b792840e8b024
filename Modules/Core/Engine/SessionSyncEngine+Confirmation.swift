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
