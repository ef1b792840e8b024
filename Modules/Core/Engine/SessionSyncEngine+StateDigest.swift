import MeshIdentity

/// The state after a number of confirmed events, for a digest of it.
package struct SessionMilestone<State: Sendable>: Sendable {
    /// How many confirmed events it includes.
    package let position: UInt64
    /// The fingerprint of those events.
    package let chain: UInt64
    package let state: State
}

extension SessionSyncEngine {
    /// The newest confirmed milestone, unless it has a digest already, its state isn't in memory any more, or it depends
    /// on an event that this version can't read.
    ///
    /// Complexity: reduces at most 31 events, usually none.
    /// - Parameters:
    ///   - stride: A multiple of `ConfirmationChain.interval`; only its multiples are milestones.
    ///   - seen: Only later milestones count.
    package func milestone(
        every stride: UInt64 = ConfirmationChain.interval, after seen: UInt64 = 0
    ) -> SessionMilestone<State>? {
        let position = confirmationChain.position / stride * stride
        guard sealed, !hasForkedMember, position > max(seen, comparison.newestPosition), position >= log.baseCount,
            confirmedCount == confirmationChain.position, let chain = confirmationChain.value(at: position)
        else { return nil }
        let count = Int(position - log.baseCount)
        guard count <= log.reducedCount, !log.entries[..<count].contains(where: \.isOpaque),
            let mark = log.marks.last(where: { $0.count <= count }),
            count - mark.count < Int(ConfirmationChain.interval)
        else { return nil }
        guard mark.count < count else {
            return SessionMilestone(position: position, chain: chain, state: mark.prefix.state)
        }
        var prefix = log
        prefix.isBehind = false
        prefix.entries.removeSubrange(count...)
        prefix.rollBack(to: count)
        prefix.replay(by: interpreter, sources: sources)
        return SessionMilestone(position: position, chain: chain, state: prefix.current.state)
    }

    /// Takes a digest of a milestone's state: other members are told, and theirs are compared with it.
    package mutating func add(_ digest: StateDigest) {
        comparison.forget { sources.slot(of: $0).map { !sources[$0].isOpen } ?? true }
        if comparison.add(digest) { pending.raise(.stateDiverged(position: digest.position)) }
    }

    mutating func compareStates(_ digest: StateDigest, _ slot: Int) {
        if comparison.hear(digest, of: sources[slot].source) {
            pending.raise(.stateDiverged(position: digest.position))
        }
    }
}
