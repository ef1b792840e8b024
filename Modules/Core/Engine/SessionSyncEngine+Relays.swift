public import MeshFoundation
public import MeshIdentity

/// Relays of events by members other than their author (rule 22 of Docs/Internals/Convergence.md), so that members can
/// hold the same events while the author is absent.
///
/// An author answers for its own events. Another member is asked only if they have been missing for some steps, and
/// only if it has reported that it holds them. The relaying member vouches that the author wrote them.
extension SessionSyncEngine {
    /// Takes events that a member relays.
    ///
    /// - Throws: the errors of `receive`. Nothing changes then.
    public mutating func receiveRelay(_ envelope: SessionSyncEnvelope<SessionRelay<Event>>, at moment: Date) throws {
        try check(envelope.metadata, payloadType: SessionRelay<Event>.payloadType)
        let records = envelope.payload.records
        guard records.count <= options.rangeMax else { throw SessionSyncError.outOfRange(field: "records") }
        for record in records { try record.checkNumbers() }
        isReferenceOnly = false
        wallMilliseconds = max(wallMilliseconds, moment.wallMilliseconds)
        guard sealed, let slot = sources.slot(of: SessionSource(envelope.metadata)), slot != 0, sources[slot].isOpen
        else { return forgetApplied() }
        let relayer = sources[slot].source
        gather { engine in
            for record in records { engine.insertRelayed(record, by: relayer) }
        }
    }

    private mutating func insertRelayed(_ record: SessionRecord<Event>, by relayer: SessionSource) {
        guard let slot = sources.slot(of: record.source), slot != 0, sources[slot].isOpen, record.sequence > 0,
            mayRelay(relayer, of: record.source)
        else { return }
        _ = take(LogEntry(upcast(record), slot: slot))
    }

    /// True unless both are quarantined: members to be closed don't vouch for each other's events.
    private func mayRelay(_ relayer: SessionSource, of author: SessionSource) -> Bool {
        !isQuarantined(author) || !isQuarantined(relayer)
    }

    // MARK: - Asking

    /// Requests events that have been missing for some steps from a member that holds them.
    mutating func askForRelays(after steps: Double) {
        var missingEvents: [SessionSource: (held: UInt64, steps: Double)] = [:]
        for slot in sources.indices.dropFirst() where sources[slot].isOpen {
            let (source, held) = (sources[slot].source, sources[slot].held)
            let holders = holders(of: slot, beyond: held)
            guard !holders.isEmpty else { continue }
            let known = membershipIntent.missingEvents[source]
            let age = known?.held == held ? (known?.steps ?? 0) + steps : steps
            missingEvents[source] = (held, age)
            guard age >= Self.relaySteps || isQuarantined(source) else { continue }
            let holder = holders[Int(age) % holders.count]
            let last = min(sources[holder].acknowledged(slot), held + UInt64(options.rangeMax))
            pending.askForRelay(
                of: SessionRange(source: source, first: held + 1, last: last), from: sources[holder].source.peerID)
        }
        membershipIntent.missingEvents = missingEvents
    }

    /// The members that report that they hold more of that source.
    private func holders(of slot: Int, beyond held: UInt64) -> [Int] {
        var holders: [Int] = []
        for other in sources.indices.dropFirst() where other != slot && sources[other].acknowledged(slot) > held {
            if sources[other].isOpen, mayRelay(sources[other].source, of: sources[slot].source) {
                holders.append(other)
            }
        }
        return holders
    }

    /// Number of steps to wait for the author itself.
    private static var relaySteps: Double { 3 }

    /// Number of steps to wait for an author that hasn't been heard since this engine's launch.
    private static var unheardSteps: Double { 10 }

    // MARK: - Answering

    mutating func answerRelays(_ control: SessionControl, to slot: Int) {
        guard let ranges = control.relays, !ranges.isEmpty else { return }
        let peerID = sources[slot].source.peerID
        pending.relays[peerID] = ranges
        // Some requested events are void, because their author wrote them before it joined. The record states that.
        guard ranges.contains(where: { $0.first < sources.first(of: $0.source) }) else { return }
        pending.records.insert(peerID)
        pending.controls.insert(peerID)
    }

    /// Takes the first sequences of absent authors from a member's report. An author in reach reports its own.
    mutating func adoptFirstSequences(_ control: SessionControl, of slot: Int) {
        guard let record = control.record, record.number == stance.number, !isQuarantined(sources[slot].source) else {
            return
        }
        for entry in record.membership.first where entry.sequence > sources.first(of: entry.source) {
            guard let known = sources.slot(of: entry.source), known != 0, sources[known].isOpen, !isAwaited(known),
                entry.sequence <= SequenceBounds.hearsay
            else { continue }
            pending.changesMembership = true
            sources.raiseFirst(of: known, to: entry.sequence)
            drainGap(known)
            sources.activatePromises(of: known)
        }
    }

    /// True if an author is expected to state its first sequence itself. One that hasn't been heard since this engine's
    /// launch is awaited for `unheardSteps`: another member's report would void its events for good.
    private func isAwaited(_ slot: Int) -> Bool {
        guard sources[slot].lastHeard == nil else { return isInReach(slot) }
        return (membershipIntent.missingEvents[sources[slot].source]?.steps ?? 0) < Self.unheardSteps
    }

    /// The requested events that are held here, at most `rangeMax`.
    func relayed(_ ranges: [SessionRange]) -> [SessionRecord<Event>] {
        var records: [SessionRecord<Event>] = []
        for entry in log.entries {
            let source = sources[entry.slot].source
            let isWanted = ranges.contains {
                $0.source == source && $0.first <= entry.sequence && entry.sequence <= $0.last
            }
            guard isWanted else { continue }
            records.append(entry.record(of: source))
            if records.count == options.rangeMax { break }
        }
        return records
    }
}
