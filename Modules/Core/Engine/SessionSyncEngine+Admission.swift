public import MeshIdentity

extension SessionSyncEngine {
    /// Whether that peer has a say here, and may know what is said: once the group is for good its members have, in
    /// whichever of their lives, and before that everybody.
    package func hears(_ peerID: String) -> Bool {
        !sealed || isMember(peerID)
    }

    func isMember(_ peerID: String) -> Bool {
        sources.records.contains { $0.isOpen && $0.source.peerID == peerID }
    }

    /// Whose events enter the log.
    ///
    /// Members' always. Strangers' on sight while unsealed, because nothing is confirmed then and nothing is lost by
    /// showing them; never those of a source that was closed, of another group, or, once this engine has founded a
    /// group, of anyone but the members that were there from its beginning.
    ///
    /// - Returns: the source's slot; nil when the event is refused.
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
        // Two incarnations of one peer: which one lives is for the founder to find out.
        if !isReferenceOnly, sources.heldIncarnation(of: source) != nil { return nil }
        if let known { return known }
        setApartLaterLife(metadata)
        return try meet(source)
    }

    @discardableResult
    mutating func meet(_ source: SessionSource) throws -> Int {
        renameShownIncarnation(of: source.peerID)
        return try slot(adding: source)
    }

    /// Whether it was said in this group, since its author joined.
    private func isOfGroup(_ epoch: UInt32, since joined: UInt64) -> Bool {
        let number = UInt64(epoch &- groupTag)
        return number >= joined && number <= stance.number + SessionViewRecord.stepMax
    }

    /// Whether a promise counts that was made in that view: not while the view is not installed here.
    @usableFromInline
    func counts(_ epoch: UInt32) -> Bool {
        UInt64(epoch &- groupTag) <= stance.number
    }

    mutating func setEpoch() {
        epochTag = groupName == nil ? 0 : groupTag &+ UInt32(truncatingIfNeeded: stance.number)
    }

    /// The peer's bare id will mean its new incarnation.
    private mutating func renameShownIncarnation(of peerID: String) {
        guard let earlier = sources.records.last(where: { $0.source.peerID == peerID })?.source,
            let shown = provisional?.vector.removeValue(forKey: peerID)
        else { return }
        provisional?.vector[earlier.description] = shown
    }

    /// An own event beyond what this store has written: from before it was lost, or from a copy of it.
    private mutating func admitOwn(_ metadata: SessionSyncMetadata) -> Int? {
        guard metadata.sequence > sources[0].held, sealed else { return 0 }
        raiseFork(0, metadata.sequence)
        return nil
    }
}

extension SessionSource {
    /// The name of the group that this source founded, in metadata; 0 is no group.
    var groupTag: UInt32 {
        let hash = UInt32(truncatingIfNeeded: StableHash(Array(description.utf8)).low)
        return hash == 0 ? 1 : hash
    }
}

/// How many lives of a peer a session remembers.
///
/// A peer that loses its store, or never had one, comes back as another source. Its earlier ones are of use for a while:
/// they tell an old copy of its store from a new one. A session keeps the last few; the oldest are forgotten once their
/// events are in the base and nothing here refers to them. So one peer, however often it begins anew or pretends to, takes
/// up a bounded part of the table and of each control.
extension SessionSyncEngine {
    /// - Throws: `SessionSyncError.tooManySources`; only the peer that has used up its share is refused for that.
    @usableFromInline
    mutating func slot(adding source: SessionSource) throws -> Int {
        if let slot = sources.slot(of: source) { return slot }
        if sources.lives(of: source.peerID) >= SourceTable.livesMax { try forgetLives(of: source.peerID) }
        let slot = try sources.slot(adding: source)
        if taken != nil { meet(slot) }
        return slot
    }

    private mutating func forgetLives(of peerID: String) throws {
        placeGathered()
        var forgettable = forgettableLives(of: peerID)
        if forgettable.isEmpty, isReferenceOnly, !sealed {
            foldUnconfirmed()
            forgettable = forgettableLives(of: peerID)
        }
        guard !forgettable.isEmpty else { throw SessionSyncError.tooManySources(limit: SourceTable.livesMax) }
        // Half of them at once: each time moves what refers to later slots.
        remove(Set(forgettable.prefix((forgettable.count + 1) / 2)))
    }

    /// Slots, the earliest first. None while another peer's engine may still wait for word of them.
    private func forgettableLives(of peerID: String) -> [Int] {
        guard haveConfirmedBase(except: peerID) else { return [] }
        var inUse = Set(log.entries.map(\.slot))
        for entry in due.entries { inUse.insert(entry.entry.slot) }
        for entry in applied { inUse.insert(entry.entry.slot) }
        for entry in provisional?.log.entries ?? [] { inUse.insert(entry.slot) }
        // Keeps the record that the peer was a member: what it says counts for less since.
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
        // Nothing refers to a removed slot, see `forgettableLives`.
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
        // A store must not go on knowing sources that the base does not.
        pending.replacesEverything = true
    }

    /// Nobody will fill the gaps of sources whose events are not taken any more.
    mutating func forgetGapsOfOthers() {
        gaps = gaps.filter { sources[$0.key].isOpen }
    }

    /// Whether every other member has confirmed what the base holds: until then it may lack an acknowledgement of that.
    func haveConfirmedBase(except peerID: String? = nil) -> Bool {
        let position = confirmationChain.position - min(confirmationChain.position, UInt64(announcedCount))
        return sources.records.dropFirst().allSatisfy {
            !$0.isOpen || $0.source.peerID == peerID || $0.position >= position
        }
    }

    /// Slots that a control speaks of: members, sources of events above the base, and of each peer the lives that were
    /// last met.
    var spokenSlots: [Int] {
        guard sources.records.count > SourceTable.livesSpokenOf else {
            return Array(sources.indices)
        }
        if sources.records.allSatisfy(\.isOpen) { return Array(sources.indices) }
        var isSpokenOf = sources.records.map(\.isOpen)
        isSpokenOf[0] = true
        for index in log.entries.indices { isSpokenOf[log.entries[index].slot] = true }
        var met: [String: Int] = [:]
        for slot in sources.indices.reversed() {
            let peerID = sources[slot].source.peerID
            met[peerID, default: 0] += 1
            if met[peerID, default: 0] <= SourceTable.livesSpokenOf { isSpokenOf[slot] = true }
        }
        return sources.indices.filter { isSpokenOf[$0] }
    }
}

extension SourceTable {
    /// Lives of one peer.
    static var livesMax: Int { 64 }
    static var livesSpokenOf: Int { 4 }

    func lives(of peerID: String) -> Int { records.count { $0.source.peerID == peerID } }

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
