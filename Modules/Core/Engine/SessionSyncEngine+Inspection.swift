public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// The source that this engine submits events as. It changes when the store has forked.
    public var source: SessionSource { sources[0].source }

    /// The group's name, which is the source that founded it; nil before there is one.
    public var group: SessionSource? { groupName }

    /// The tag in metadata for the group and its view; 0 before there is a group.
    public var epoch: UInt32 { epochTag }

    /// True if this engine belongs to its group for good: it confirms events, and adopts no copies any more.
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

    /// True if this source must write no more: it has forked or was closed, and needs another incarnation.
    package var hasForked: Bool { sources[0].isForked }

    /// The stamp at or below which the order of held events is final.
    public var cut: HybridTimestamp { cutStamp }

    /// A moment later than every stamp and event time that this engine knows, even if the clock was set back. Reads
    /// event times too, because stamps count whole milliseconds. O(log).
    package var firstUnusedMoment: Date {
        let stamped = Date(timeIntervalSince1970: Double(clock.latest.milliseconds) / 1000)
        return log.entries.reduce(stamped) { max($0, $1.header.causalTimestamp) }.addingTimeInterval(0.001)
    }

    /// Returns the time by which a peer's clock is ahead of the local one, or nil before the first round trip of
    /// controls.
    ///
    /// - Parameter moment: by the local clock, because the error grows with time; nil means the end of the last round
    ///   trip.
    public func clockOffset(of peerID: String, at moment: Date? = nil) -> ClockOffsetEstimate? {
        sources.roundTrips(with: peerID).estimate(at: moment)
    }

    /// The last sequence of each source up to which all events are held.
    public var held: SequenceVector { sources.vector { $0.held } }

    /// The last sequence of each source that the base includes.
    package var folded: SequenceVector { sources.vector { $0.folded } }

    /// Returns true if that source was closed: its device has another incarnation now, or has left the group.
    package func isClosed(_ source: SessionSource) -> Bool {
        sources.slot(of: source).map { sources[$0].isClosed } ?? false
    }

    /// Returns the sequences that a member has acknowledged.
    public func acknowledged(by member: SessionSource) -> SequenceVector {
        guard let slot = sources.slot(of: member) else { return SequenceVector() }
        return SequenceVector(
            sources[slot].acknowledged.enumerated().filter { $0.element > 0 }
                .map { SourceSequence(source: sources[$0.offset].source, sequence: $0.element) })
    }

    /// The number of confirmed entries since the group began, including replacements. While unsealed, the number of
    /// entries in the base.
    public var confirmedCount: UInt64 { log.baseCount + UInt64(announcedCount) }

    /// The number of held entries that aren't confirmed, or that `takeDirectives` hasn't returned as confirmed yet.
    public var unconfirmedCount: Int { log.entries.count - announcedCount }

    /// The number of entries above the base.
    public var logCount: Int { log.entries.count }

    /// The number of own entries that aren't confirmed.
    public var ownUnconfirmedCount: Int { ownUnconfirmed }

    /// The number of unconfirmed events that had an effect. O(log).
    package var unconfirmedEffectCount: Int {
        log.entries.dropFirst(announcedCount).count { entry in
            if entry.outcome == .applied, case .event = entry.content { true } else { false }
        }
    }

    /// The current effect of an own event in the log; nil for another event, or one that isn't reduced yet. O(log n).
    package func outcome(ofOwn sequence: UInt64, _ stamp: HybridTimestamp) -> SessionEventOutcome? {
        log.place(of: stamp) { $0.slot == 0 && $0.sequence == sequence }.flatMap { log.entries[$0].outcome }
    }

    package var ownUnconfirmedByteCount: Int { ownUnconfirmedBytes }

    /// The own events that `takeDirectives` hasn't returned as confirmed. O(log).
    package var ownUnconfirmedEvents: [Event] {
        log.entries.dropFirst(announcedCount).compactMap { entry in
            if entry.slot == 0, case .event(let event) = entry.content { event } else { nil }
        }
    }

    /// The number of events, of all sources, that wait for earlier ones.
    public var gapCount: Int { gaps.values.reduce(0) { $0 + $1.count } }

    /// The running fingerprint of the confirmed events.
    public var chain: ConfirmationChain { confirmationChain }

    /// True while the shown state comes from a peer's snapshot, and this engine doesn't hold the events that led to it.
    public var isProvisional: Bool { provisional != nil }

    /// The ranges of events that are known to be missing. Every control requests them.
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

    /// The log above the base, in order. Complexity: O(log).
    public var records: [SessionRecord<Event>] { log.entries.map { $0.record(of: sources[$0.slot].source) } }
}

/// An engine's progress, in numbers that are cheap to compare.
package struct EngineOutline: Sendable {
    package let source: SessionSource
    package let group: SessionSource?
    package let isSealed: Bool
    package let isProvisional: Bool
    package let cut: HybridTimestamp
    /// A fingerprint of the held events; equal for engines that hold the same, in whatever order they met the sources.
    package let heldDigest: UInt64
    package let confirmedCount: UInt64
    package let chainPosition: UInt64
    package let chain: UInt64
    package let ownUnconfirmedCount: Int
    package let gapCount: Int
    package let sourceCount: Int
}

extension SessionSyncEngine {
    /// The engine's progress, for observers that read it after each step. Complexity: O(sources).
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

    /// The number of own entries beyond that sequence. Complexity: O(log).
    package func ownLogCount(beyond sequence: UInt64) -> UInt64 {
        var count: UInt64 = 0
        for index in log.entries.indices where log.entries[index].slot == 0 && log.entries[index].sequence > sequence {
            count += 1
        }
        return count
    }
}
