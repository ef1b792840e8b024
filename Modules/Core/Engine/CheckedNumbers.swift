public import MeshFoundation
public import MeshIdentity

// Range checks for numbers that another engine has counted: in a peer's message, or in a store (rule 13 of
// Docs/Internals/Convergence.md). Each check throws `SessionSyncError.outOfRange`.

extension SessionControl {
    func checkNumbers() throws {
        try check(members.count, "members")
        try check(held, "held")
        try check(asks.count, "asks")
        try check(echoes.count, "echoes")
        try check(wants.count, "wants")
        for range in wants { try check(range.first, range.last, "wants") }
        try check(replacements.count, "replacements")
        for record in replacements { try record.checkNumbers() }
        try check(clockEchoes.count, "clockEchoes")
        guard clockEchoes.allSatisfy({ $0.sentAt.isFinite && $0.receivedAt.isFinite }) else {
            throw SessionSyncError.outOfRange(field: "clockEchoes")
        }
        try check(forked, "forked")
        try check(firstSequence, "firstSequence")
        try check(position, "position")
        try check(stateDigest?.position ?? 0, "stateDigest")
        try view?.checkNumbers()
        try record?.checkNumbers()
        try check(relays?.count ?? 0, "relays")
        for range in relays ?? [] { try check(range.first, range.last, "relays") }
        try check(reissues?.count ?? 0, "reissues")
        for stretch in reissues ?? [] { try stretch.checkNumbers() }
    }
}

extension SessionReissue {
    fileprivate func checkNumbers() throws {
        guard count > 0, name.sequence > 0, origin.sequence > 0 else {
            throw SessionSyncError.outOfRange(field: "reissues")
        }
        try check(name.sequence, origin.sequence, "reissues")
        try check(count, "reissues")
        try check(name.sequence + count, origin.sequence + count, "reissues")
    }
}

extension ViewStatement {
    func checkNumbers() throws {
        guard number <= SessionViewRecord.numberMax else { throw SessionSyncError.outOfRange(field: "view") }
        guard let change else { return }
        guard change.ballot.round <= SequenceBounds.hearsay, change.frozen.isUsable else {
            throw SessionSyncError.outOfRange(field: "ballot")
        }
        try check(change.quarantined.count, "quarantined")
        try check(change.closing.count, "closing")
        guard let accepted = change.accepted else { return }
        guard accepted.ballot.round <= SequenceBounds.hearsay else {
            throw SessionSyncError.outOfRange(field: "ballot")
        }
        try accepted.record.checkNumbers()
    }
}

extension SessionViewRecord {
    func checkNumbers() throws {
        guard number <= Self.numberMax, membership.open.allSatisfy({ $0.floor.isUsable }) else {
            throw SessionSyncError.outOfRange(field: "view")
        }
        try membership.checkNumbers()
        try membership.checkMembers()
    }
}

extension SessionCheckpoint {
    func checkNumbers() throws {
        try membership.checkNumbers()
        try membership.checkMembers()
        try base.checkNumbers()
        try check(chain.position, "position")
        for record in log { try record.checkNumbers() }
        guard cut.isUsable, membership.open.allSatisfy({ $0.floor.isUsable }) else {
            throw SessionSyncError.outOfRange(field: "cut")
        }
        guard (0...log.count).contains(settledCount) else {
            throw SessionSyncError.outOfRange(field: "settledCount")
        }
    }
}

extension SessionMembership {
    fileprivate func checkNumbers() throws {
        try check(open.count, "open")
        try check(closed, "closed")
        try check(first, "first")
    }

    /// Checks that each source is listed once, as open or closed. A peer may have one open incarnation, and at most 16
    /// sources may be open.
    fileprivate func checkMembers() throws {
        let sources = open.map(\.source) + closed.map(\.source)
        guard open.count <= Self.openMax, Set(sources).count == sources.count,
            Set(open.map(\.source.peerID)).count == open.count
        else {
            throw SessionSyncError.outOfRange(field: "membership")
        }
    }
}

extension SessionBase {
    package func checkNumbers() throws {
        try check(vector, "base")
        try check(count, "baseCount")
        guard reduced.recentEventIDs.count <= ReducedState<State>.recentEventIDsMax else {
            throw SessionSyncError.outOfRange(field: "recentEventIDs")
        }
    }
}

extension SessionRecord {
    func checkNumbers() throws {
        try check(sequence, "sequence")
        if case .replacement(let replacement) = content { try check(replacement.final, "final") }
        guard stamp.isUsable else { throw SessionSyncError.outOfRange(field: "stamp") }
        guard causalTimestamp.isFinite, monotonicTimestamp?.isFinite ?? true else {
            throw SessionSyncError.outOfRange(field: "causalTimestamp")
        }
    }
}

extension SessionSyncSnapshot {
    func checkNumbers() throws {
        for sequence in peerSequenceVector.values { try check(sequence, "peerSequenceVector") }
        try check(revision, "revision")
    }
}

extension SessionEngineHead {
    /// Checks the numbers that this peer has counted itself. Numbers that other peers have stated are clamped instead;
    /// see `clamped`.
    package func checkNumbers() throws {
        try check(sequence, "sequence")
        try check(held, "held")
        try check(chain.position, "position")
        try membership.checkNumbers()
        for stretch in reissues ?? [] { try stretch.checkNumbers() }
        for effect in sideEffectsDue { try check(effect.position, effect.record.sequence, "sideEffectsDue") }
        guard settledCount >= 0 else { throw SessionSyncError.outOfRange(field: "settledCount") }
    }

    /// A copy with capped revision and acknowledgements, because an earlier version may have accepted numbers out of
    /// range.
    var clamped: Self {
        var head = self
        head.snapshotRevision = min(snapshotRevision, SequenceBounds.hearsay)
        for index in head.acknowledgements.indices {
            let held = head.acknowledgements[index].held.entries
            head.acknowledgements[index].held = SequenceVector(
                held.map { SourceSequence(source: $0.source, sequence: min($0.sequence, SequenceBounds.highest)) })
        }
        return head
    }
}

extension SessionSyncMetadata {
    /// True if the numbers of a message's metadata are in range.
    @inlinable var isInRange: Bool {
        sequence <= SequenceBounds.highest && causalTimestamp.isFinite && (monotonicTimestamp?.isFinite ?? true)
    }
}

extension Date {
    @inlinable var isFinite: Bool { timeIntervalSinceReferenceDate.isFinite }
}

private func check(_ number: UInt64, _ field: String) throws {
    guard number <= SequenceBounds.highest else { throw SessionSyncError.outOfRange(field: field) }
}

private func check(_ first: UInt64, _ second: UInt64, _ field: String) throws { try check(max(first, second), field) }

/// Checks that a list has no more entries than there can be sources.
private func check(_ count: Int, _ field: String) throws {
    guard count <= SourceTable.countMax else { throw SessionSyncError.outOfRange(field: field) }
}

private func check(_ sequences: [SourceSequence], _ field: String) throws {
    try check(sequences.count, field)
    for entry in sequences { try check(entry.sequence, field) }
}

private func check(_ vector: SequenceVector, _ field: String) throws { try check(vector.entries, field) }
