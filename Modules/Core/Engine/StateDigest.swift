import MeshIdentity

/// A digest of a member's state after its first `position` confirmed events.
package struct StateDigest: Hashable, Sendable, Codable {
    /// A multiple of `ConfirmationChain.interval`.
    package var position: UInt64
    /// The fingerprint of those events. Digests after different events aren't compared.
    package var chain: UInt64
    /// Digest of the state's canonical encoding.
    package var state: UInt64
    /// Version of the reducer that made the state. Digests of different versions aren't compared.
    package var version: UInt64

    package init(position: UInt64, chain: UInt64, state: UInt64, version: UInt64) {
        (self.position, self.chain, self.state, self.version) = (position, chain, state, version)
    }

    /// Compares two states; nil unless both follow the same events in the same reducer version.
    func agrees(with other: StateDigest) -> Bool? {
        guard position == other.position, chain == other.chain, version == other.version else { return nil }
        return state == other.state
    }
}

/// Digests of this engine's and other members' states, to find states that differ after the same events (rule 11 of
/// Docs/Internals/Convergence.md).
///
/// Not persisted: after a relaunch, comparison starts with the next digest.
struct StateComparison: Sendable {
    private var own: [StateDigest] = []
    private var others: [SessionSource: [StateDigest]] = [:]
    /// Members whose last comparable state differed.
    private var diverged: Set<SessionSource> = []
    private var sendsLeft = 0

    /// Maximum number of digests kept of each member.
    private static let digestsMax = 8
    /// Number of periodic controls that carry a digest: enough for one to arrive over a bad link.
    private static let sendsMax = 8

    var hasDivergedMember: Bool { !diverged.isEmpty }

    var newestPosition: UInt64 { own.last?.position ?? 0 }

    /// - Returns: true if it differs from the state of a member that agreed before.
    mutating func add(_ digest: StateDigest) -> Bool {
        Self.keep(digest, in: &own)
        sendsLeft = Self.sendsMax
        var differs = false
        for (source, digests) in others {
            for other in digests where compare(digest, other, of: source) { differs = true }
        }
        return differs
    }

    /// - Returns: true if it differs from this engine's state and the member agreed before.
    mutating func add(_ digest: StateDigest, from source: SessionSource) -> Bool {
        Self.keep(digest, in: &others[source, default: []])
        return own.contains { compare($0, digest, of: source) }
    }

    mutating func forget(_ isGone: (SessionSource) -> Bool) {
        others = others.filter { !isGone($0.key) }
        diverged = diverged.filter { !isGone($0) }
    }

    mutating func takeNext() -> StateDigest? {
        guard sendsLeft > 0 else { return nil }
        sendsLeft -= 1
        return own.last
    }

    private mutating func compare(_ own: StateDigest, _ other: StateDigest, of source: SessionSource) -> Bool {
        guard let agrees = own.agrees(with: other) else { return false }
        guard !agrees else {
            diverged.remove(source)
            return false
        }
        guard diverged.insert(source).inserted else { return false }
        // Sends the newest digest again, so that the other side can raise its alarm too.
        sendsLeft = Self.sendsMax
        return true
    }

    private static func keep(_ digest: StateDigest, in digests: inout [StateDigest]) {
        guard !digests.contains(digest) else { return }
        if digests.count == digestsMax { digests.removeFirst() }
        digests.append(digest)
    }
}

/// The state after a number of confirmed events, for a digest of it.
package struct SessionMilestone<State: Sendable>: Sendable {
    /// The number of confirmed events that the state includes.
    package let position: UInt64
    /// The fingerprint of those events.
    package let chain: UInt64
    package let state: State
}

extension SessionSyncEngine {
    /// The position of the newest confirmed milestone, unless it has a digest already. O(1).
    ///
    /// - Parameters:
    ///   - stride: A multiple of `ConfirmationChain.interval`; only its multiples are milestones.
    ///   - seen: Only later milestones count.
    package func milestonePosition(
        every stride: UInt64 = ConfirmationChain.interval, after seen: UInt64 = 0
    ) -> UInt64? {
        let position = confirmationChain.position / stride * stride
        guard sealed, !hasForkedMember, position > max(seen, comparison.newestPosition), position >= log.baseCount,
            confirmedCount == confirmationChain.position, confirmationChain.value(at: position) != nil
        else { return nil }
        return position
    }

    /// The milestone at a position from `milestonePosition`, unless its state isn't in memory any more, or an event
    /// before it can't be read by this version.
    ///
    /// Complexity: O(events above the base), and reduces at most 31 events, usually none.
    package func milestone(at position: UInt64) -> SessionMilestone<State>? {
        guard position >= log.baseCount, let chain = confirmationChain.value(at: position) else { return nil }
        let count = Int(position - log.baseCount)
        guard count <= log.reducedCount, let mark = log.marks.last(where: { $0.count <= count }),
            count - mark.count < Int(ConfirmationChain.interval),
            !log.entries[..<count].contains(where: { $0.isOpaque })
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

    /// The newest milestone that has no digest yet.
    package func milestone(every stride: UInt64 = ConfirmationChain.interval) -> SessionMilestone<State>? {
        milestonePosition(every: stride).flatMap(milestone(at:))
    }

    /// Takes a milestone's digest, to send it to other members and compare it with theirs.
    package mutating func add(_ digest: StateDigest) {
        comparison.forget { sources.slot(of: $0).map { !sources[$0].isOpen } ?? true }
        if comparison.add(digest) { pending.raise(.stateDiverged(position: digest.position)) }
    }

    /// True if another member's last comparable state differed from this engine's.
    package var hasDivergedMember: Bool { comparison.hasDivergedMember }

    mutating func compareStates(_ digest: StateDigest, _ slot: Int) {
        if comparison.add(digest, from: sources[slot].source) {
            pending.raise(.stateDiverged(position: digest.position))
        }
    }
}
