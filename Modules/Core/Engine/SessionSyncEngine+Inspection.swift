public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// The store in whose name this engine submits events now. It changes when the store has forked.
    public var source: SessionSource { sources[0].source }

    /// The group's name: the source that founded it.
    public var group: SessionSource? { groupName }

    /// Names the group, and its view, in metadata; 0 before there is one.
    public var epoch: UInt32 { epochTag }

    /// A member of a group for good: it confirms, and adopts no copies any more.
    public var isSealed: Bool { sealed }

    /// The members and former members of the group, as this engine knows them. O(sources).
    public var membership: SessionMembership {
        SessionMembership(
            open: sources.records.filter { $0.isOpen }.map {
                .init(source: $0.source, floor: $0.floor, joined: $0.joinedView > 0 ? $0.joinedView : nil)
            }

            .sorted { $0.source < $1.source },
            closed: sources.records.filter { $0.isClosed }.map { SourceSequence(source: $0.source, sequence: $0.final) }
                .sorted { $0.source < $1.source },
            first: sources.records.filter { $0.first > 1 }
                .map { SourceSequence(source: $0.source, sequence: $0.first) }.sorted { $0.source < $1.source })
    }

    /// This source writes no more: another name is due, or it has been let go.
    package var hasForked: Bool { sources[0].isForked }

    /// At or below it the order of what is held will not change.
    public var cut: HybridTimestamp { cutStamp }

    /// A moment later than every stamp and tap that this engine knows. A clock that was set back shows earlier moments again. Stamps count
    /// whole milliseconds, and a tap can be later within its millisecond. O(log).
    package var firstUnusedMoment: Date {
        let stamped = Date(timeIntervalSince1970: Double(clock.latest.milliseconds) / 1000)
        return log.entries.reduce(stamped) { max($0, $1.header.causalTimestamp) }.addingTimeInterval(0.001)
    }

    /// Returns the time by which a peer's clock is ahead of the local one, or nil before the first round trip of
    /// controls.
    ///
    /// - Parameter moment: by the local clock, as the error grows with time; nil is the end of the last round trip.
    public func clockOffset(of peerID: String, at moment: Date? = nil) -> ClockOffsetEstimate? {
        sources.roundTrips(with: peerID).estimate(at: moment)
    }

    /// Held of each source without a gap.
    public var held: SequenceVector { sources.vector { $0.held } }

    /// What the base includes of each source.
    package var folded: SequenceVector { sources.vector { $0.folded } }

    /// Returns the sequences that a member has acknowledged.
    public func acknowledged(by member: SessionSource) -> SequenceVector {
        guard let slot = sources.slot(of: member) else { return SequenceVector() }
        return SequenceVector(
            sources[slot].acknowledged.enumerated().filter { $0.element > 0 }
                .map { SourceSequence(source: sources[$0.offset].source, sequence: $0.element) })
    }

    /// Confirmed entries since the group began, replacements included; of an unsealed engine those that its base holds.
    public var confirmedCount: UInt64 { log.baseCount + UInt64(announcedCount) }

    /// Entries that are held and not confirmed, or confirmed and not taken by `takeDirectives`.
    public var unconfirmedCount: Int { log.entries.count - announcedCount }

    /// Entries above the base.
    public var logCount: Int { log.entries.count }

    /// Own entries that are not confirmed.
    public var ownUnconfirmedCount: Int { ownUnconfirmed }

    /// Unconfirmed events that the reducer took. O(log).
    package var unconfirmedEffectCount: Int {
        log.entries.dropFirst(announcedCount).count { entry in
            if entry.outcome == .applied, case .event = entry.content { true } else { false }
        }
    }

    /// What an own event in the log does at its place for now; nil for another event, or one that isn't reduced yet. O(log n).
    package func outcome(ofOwn sequence: UInt64, _ stamp: HybridTimestamp) -> SessionEventOutcome? {
        log.place(of: stamp) { $0.slot == 0 && $0.sequence == sequence }.flatMap { log.entries[$0].outcome }
    }

    package var ownUnconfirmedByteCount: Int { ownUnconfirmedBytes }

    /// Own events that `takeDirectives` has not handed over as confirmed. O(log).
    package var ownUnconfirmedEvents: [Event] {
        log.entries.dropFirst(announcedCount).compactMap { entry in
            if entry.slot == 0, case .event(let event) = entry.content { event } else { nil }
        }
    }

    /// Events that wait for earlier ones, of all sources.
    public var gapCount: Int { gaps.values.reduce(0) { $0 + $1.count } }

    /// A running fingerprint of what was confirmed.
    public var chain: ConfirmationChain { confirmationChain }

    /// A peer's state is shown of which the events are not held.
    public var isProvisional: Bool { provisional != nil }

    /// The ranges of events that are known to be missing. Every control message asks for them.
    public var missing: [SessionRange] {
        guard !gaps.isEmpty else { return [] }
        return gaps.sorted { $0.key < $1.key }.compactMap { slot, gap in
            guard let first = gap.first, first.sequence > sources[slot].held + 1 else { return nil }
            return SessionRange(
                source: sources[slot].source, first: sources[slot].held + 1, last: first.sequence - 1)
        }
    }

    /// The log's entries of one source in a range, in order. Complexity: O(log), and O(range) for a range at its end.
    public func records(in range: SessionRange) -> [SessionRecord<Event>] {
        guard let slot = sources.slot(of: range.source), range.first <= range.last else { return [] }
        var records: [SessionRecord<Event>] = []
        for entry in log.entries.reversed() where entry.slot == slot {
            guard range.first <= entry.sequence, entry.sequence <= range.last else { continue }
            records.append(entry.record(of: range.source))
            if UInt64(records.count) > range.last - range.first { break }
        }
        return records.sorted { $0.sequence < $1.sequence }
    }

    /// The log above the base, in order, with what each entry did at its place. Complexity: O(log).
    public var records: [SessionRecord<Event>] { log.entries.map { $0.record(of: sources[$0.slot].source) } }
}

/// Where an engine stands, in numbers that are cheap to compare.
package struct EngineOutline: Sendable {
    package let source: SessionSource
    package let group: SessionSource?
    package let isSealed: Bool
    package let isProvisional: Bool
    package let cut: HybridTimestamp
    /// A fingerprint of what is held; equal for engines that hold the same, whatever the order in which they met.
    package let heldDigest: UInt64
    package let confirmedCount: UInt64
    package let chainPosition: UInt64
    package let chain: UInt64
    package let ownUnconfirmedCount: Int
    package let gapCount: Int
    package let sourceCount: Int
}

extension SessionSyncEngine {
    /// For onlookers who look after each step. Complexity: O(sources).
    package var outline: EngineOutline {
        var digest: UInt64 = 0
        for record in sources.records where record.held > 0 {
            digest &+= (record.digest ^ record.held &* 0x9e37_79b9_7f4a_7c15) &* 0xff51_afd7_ed55_8ccd
        }
        return EngineOutline(
            source: sources.records[0].source, group: groupName, isSealed: sealed, isProvisional: provisional != nil,
            cut: cutStamp,
            heldDigest: digest, confirmedCount: confirmedCount, chainPosition: confirmationChain.position,
            chain: confirmationChain.value,
            ownUnconfirmedCount: ownUnconfirmed, gapCount: gaps.isEmpty ? 0 : gapCount,
            sourceCount: sources.records.count)
    }

    /// Own entries beyond that sequence. Complexity: O(log).
    package func ownLogCount(beyond sequence: UInt64) -> UInt64 {
        var count: UInt64 = 0
        for index in log.entries.indices where log.entries[index].slot == 0 && log.entries[index].sequence > sequence {
            count += 1
        }
        return count
    }
}
