public import MeshIdentity

extension SessionSyncEngine {
    /// True if this engine listens to that peer and may send to it: any peer before the group is sealed, then members
    /// only, in any of their incarnations.
    package func hears(_ peerID: String) -> Bool {
        !sealed || isMember(peerID)
    }

    func isMember(_ peerID: String) -> Bool {
        sources.records.contains { $0.isOpen && $0.source.peerID == peerID }
    }

    /// Decides whether an event enters the log, and returns its source's slot; nil if the event is refused.
    ///
    /// Admits events of members, unless they are quarantined. While unsealed, also events of unknown peers: nothing is
    /// confirmed yet, so showing them is harmless. Refuses events of closed sources, of other groups and, once this
    /// engine has founded a group, of all but its original members.
    @usableFromInline
    mutating func admit(_ metadata: SessionSyncMetadata) throws -> Int? {
        let source = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
        guard source != self.source else { return admitOwn(metadata) }
        let known = sources.slot(of: source)
        if let known {
            if sources[known].isClosed { return nil }
            if sources[known].isOpen, isOfGroup(metadata.epoch, since: sources[known].joinedView) {
                return isQuarantined(source) ? nil : known
            }
        }
        guard !sealed, metadata.epoch == 0 || metadata.epoch == source.groupTag else { return nil }
        if groupName == self.source {
            guard let known, sources[known].isOpen, sources[known].floor == .zero else { return nil }
            return known
        }
        // Refuses the event: a founder must first find out which of the peer's two incarnations lives.
        if !isReferenceOnly, sources.heldIncarnation(of: source) != nil { return nil }
        if let known { return known }
        detectLaterIncarnation(in: metadata)
        return try meet(source)
    }

    @discardableResult
    mutating func meet(_ source: SessionSource) throws -> Int {
        renameShownIncarnation(of: source.peerID)
        return try slot(adding: source)
    }

    /// True if the epoch is one of this group's views: from the author's first view up to `stepMax` views beyond this
    /// one.
    private func isOfGroup(_ epoch: UInt32, since joined: UInt64) -> Bool {
        let number = UInt64(epoch &- groupTag)
        return number >= joined && number <= stance.number + SessionViewRecord.stepMax
    }

    /// True if a promise from that view counts, because the view is installed here.
    @usableFromInline
    func isInstalledView(_ epoch: UInt32) -> Bool {
        UInt64(epoch &- groupTag) <= stance.number
    }

    mutating func setEpoch() {
        epochTag = groupName == nil ? 0 : groupTag &+ UInt32(truncatingIfNeeded: stance.number)
    }

    /// Renames the peer's latest known incarnation in the shown state, because the peer's bare ID will mean the new
    /// one.
    private mutating func renameShownIncarnation(of peerID: String) {
        guard let earlier = sources.records.last(where: { $0.source.peerID == peerID })?.source,
            let shown = provisional?.vector.removeValue(forKey: peerID)
        else { return }
        provisional?.vector[earlier.description] = shown
    }

    /// Handles a received event of the local source. If a sealed engine hasn't written it, raises a fork: the event is
    /// from before the store was lost, or from a copy of the store.
    private mutating func admitOwn(_ metadata: SessionSyncMetadata) -> Int? {
        guard metadata.sequence > sources[0].held, sealed else { return 0 }
        raiseFork(0, metadata.sequence)
        return nil
    }
}

extension SessionSource {
    /// The tag in metadata of the group that this source founded; 0 means no group.
    var groupTag: UInt32 {
        let hash = UInt32(truncatingIfNeeded: StableHash(Array(description.utf8)).low)
        return hash == 0 ? 1 : hash
    }
}

/// A bounded number of incarnations per peer (rule 15 of Docs/Internals/Convergence.md).
///
/// A peer that loses its store, or never had one, comes back as another source. Its earlier sources are kept for a
/// while, because they show whether a store is an old copy. The oldest are forgotten once their events are in the base
/// and nothing here refers to them. So one peer takes up a bounded part of the table and of each control.
extension SessionSyncEngine {
    /// - Throws: `SessionSyncError.tooManySources` if the peer has used up its share or the table is full.
    @usableFromInline
    mutating func slot(adding source: SessionSource) throws -> Int {
        if let slot = sources.slot(of: source) { return slot }
        if sources.incarnationCount(of: source.peerID) >= SourceTable.incarnationsMax {
            try removeOldIncarnations(of: source.peerID)
        }
        let slot = try sources.slot(adding: source)
        if snapshotBase != nil { meet(slot) }
        return slot
    }

    private mutating func removeOldIncarnations(of peerID: String) throws {
        placeGathered()
        var forgettable = removableIncarnations(of: peerID)
        if forgettable.isEmpty, isReferenceOnly, !sealed {
            foldUnconfirmed()
            forgettable = removableIncarnations(of: peerID)
        }
        guard !forgettable.isEmpty else { throw SessionSyncError.tooManySources(limit: SourceTable.incarnationsMax) }
        // Forgets half of them at once, because each removal renumbers all later slots.
        remove(Set(forgettable.prefix((forgettable.count + 1) / 2)))
    }

    /// Slots of the peer that can be forgotten, oldest first. Empty while another member may still lack news of them.
    private func removableIncarnations(of peerID: String) -> [Int] {
        guard haveConfirmedBase(except: peerID) else { return [] }
        var inUse = Set(log.entries.map(\.slot))
        for entry in due.entries { inUse.insert(entry.entry.slot) }
        for entry in applied { inUse.insert(entry.entry.slot) }
        for entry in provisional?.log.entries ?? [] { inUse.insert(entry.slot) }
        // Keeps one closed source as evidence that the peer was a member: a former member's reports count for less.
        if let closed = sources.indices.last(where: { sources[$0].isClosed && sources[$0].source.peerID == peerID }) {
            inUse.insert(closed)
        }
        return sources.indices.dropFirst().filter { slot in
            sources[slot].source.peerID == peerID && !sources[slot].isOpen && gaps[slot] == nil && !inUse.contains(slot)
        }
    }

    private mutating func remove(_ removed: Set<Int>) {
        var moved: [Int?] = []
        var kept = 0
        for slot in sources.indices {
            moved.append(removed.contains(slot) ? nil : kept)
            if !removed.contains(slot) { kept += 1 }
        }
        // Nothing refers to a removed slot; see `removableIncarnations`.
        func move(_ entry: inout LogEntry<Event>) {
            if let slot = moved[entry.slot] { entry = entry.moved(to: slot) }
        }
        sources.remove(removed)
        for index in log.entries.indices { move(&log.entries[index]) }
        for index in due.entries.indices { move(&due.entries[index].entry) }
        for index in applied.indices { move(&applied[index].entry) }
        if var view = provisional {
            for index in view.log.entries.indices { move(&view.log.entries[index]) }
            provisional = view
        }
        var movedGaps: [Int: GapBuffer<Event>] = [:]
        for (slot, gap) in gaps {
            guard let slot = moved[slot] else { continue }
            movedGaps[slot] = gap.moved(to: slot)
        }
        gaps = movedGaps
        // The store must drop these sources too.
        pending.replacesEverything = true
    }

    /// Drops gaps of sources that aren't members, because their events aren't accepted any more.
    mutating func forgetGapsOfOthers() {
        gaps = gaps.filter { sources[$0.key].isOpen }
    }

    /// True if every other member has confirmed what the base holds. Until then, some may lack acknowledgements of its
    /// events.
    func haveConfirmedBase(except peerID: String? = nil) -> Bool {
        let position = confirmationChain.position - min(confirmationChain.position, UInt64(announcedCount))
        return sources.records.dropFirst().allSatisfy {
            !$0.isOpen || $0.source.peerID == peerID || $0.position >= position
        }
    }

    /// Slots that a control lists: members, sources of events above the base, and each peer's latest incarnations.
    var listedSlots: [Int] {
        guard sources.records.count > SourceTable.listedIncarnationsMax else {
            return Array(sources.indices)
        }
        if sources.records.allSatisfy(\.isOpen) { return Array(sources.indices) }
        var isListed = sources.records.map(\.isOpen)
        isListed[0] = true
        for index in log.entries.indices { isListed[log.entries[index].slot] = true }
        var met: [String: Int] = [:]
        for slot in sources.indices.reversed() {
            let peerID = sources[slot].source.peerID
            met[peerID, default: 0] += 1
            if met[peerID, default: 0] <= SourceTable.listedIncarnationsMax { isListed[slot] = true }
        }
        return sources.indices.filter { isListed[$0] }
    }
}

extension SourceTable {
    /// Maximum number of incarnations of one peer in the table.
    static var incarnationsMax: Int { 64 }
    static var listedIncarnationsMax: Int { 4 }

    func incarnationCount(of peerID: String) -> Int { records.count { $0.source.peerID == peerID } }

    mutating func remove(_ removed: Set<Int>) {
        for slot in records.indices {
            var acknowledged: [UInt64] = []
            for (known, sequence) in records[slot].acknowledged.enumerated() where !removed.contains(known) {
                acknowledged.append(sequence)
            }
            records[slot].acknowledged = acknowledged
        }
        records = records.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
        reorder(without: removed)
    }
}

extension LogEntry {
    func moved(to slot: Int) -> Self {
        var header = header
        header.slot = slot
        return renamed(header)
    }

    func renamed(_ header: EntryHeader) -> Self {
        var entry = LogEntry(header, content, outcome: outcome)
        entry.byteCount = byteCount
        return entry
    }
}

extension GapBuffer {
    func moved(to slot: Int) -> Self {
        var moved = self
        moved.move(to: slot)
        return moved
    }
}
