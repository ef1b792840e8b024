import MeshFoundation
public import MeshIdentity

/// An entry that the last call put in place.
@usableFromInline
struct AppliedEntry<Event: Sendable>: Sendable {
    @usableFromInline var entry: LogEntry<Event>
    @usableFromInline var outcome: SessionEventOutcome
    @usableFromInline var replayedCount: Int

    @inlinable
    init(entry: LogEntry<Event>, outcome: SessionEventOutcome, replayedCount: Int = 0) {
        self.entry = entry
        self.outcome = outcome
        self.replayedCount = replayedCount
    }
}

/// The directives to return next, combined over calls: one answer for each peer.
@usableFromInline
struct PendingDirectives: Sendable {
    @usableFromInline var changesMembership = false
    @usableFromInline var movesBase = false
    var replacesEverything = true
    @usableFromInline var isDigestDue = false
    /// Peers that should get a control now.
    @usableFromInline var controls: Set<String> = []
    @usableFromInline var copies: Set<String> = []
    /// Sequences of own events that a peer lacks.
    @usableFromInline var answers: [String: [UInt64]] = [:]
    /// Ranges of others' events that a peer has requested; `relayAsks` has those to request from it.
    @usableFromInline var relays: [String: [SessionRange]] = [:]
    private(set) var relayAsks: [String: [SessionRange]] = [:]
    /// Peers that should get the view record with their control.
    @usableFromInline var records: Set<String> = []
    @usableFromInline var alarms: [SessionAlarm] = []

    /// Maximum number of alarms that wait. Later ones are dropped.
    static let alarmsMax = 64

    init() {}

    /// True if there is a message or an alarm to hand over.
    @inlinable var hasMessages: Bool {
        isDigestDue || !controls.isEmpty || !answers.isEmpty || !relays.isEmpty || !records.isEmpty || !copies.isEmpty
            || !alarms.isEmpty
    }

    @usableFromInline
    mutating func raise(_ alarm: SessionAlarm) {
        if alarms.count < Self.alarmsMax, !alarms.contains(alarm) { alarms.append(alarm) }
    }

    mutating func answer(_ peerID: String, _ sequences: [UInt64], limit: Int) {
        guard !sequences.isEmpty else { return }
        let all = Set(sequences).union(answers[peerID] ?? [])
        answers[peerID] = Array(all.sorted().prefix(limit))
    }

    mutating func askForRelay(of range: SessionRange, from peerID: String) {
        relayAsks[peerID, default: []].append(range)
        controls.insert(peerID)
    }

    mutating func takeRelayAsks(of peerID: String) -> [SessionRange]? { relayAsks.removeValue(forKey: peerID) }

    mutating func replaceEverything() {
        replacesEverything = true
        answers = [:]
        relays = [:]
        relayAsks = [:]
        records = []
        copies = []
    }
}

extension SessionSyncEngine {
    /// True if the next directives list the entire log, for the store or as a copy for a peer.
    package var directivesHaveEverything: Bool { pending.replacesEverything || !pending.copies.isEmpty }

    /// Returns the work to do after a batch of calls, and forgets it. Do it in the order that `SessionDirectives`
    /// states. Complexity: O(changes).
    @inlinable
    public mutating func takeDirectives() -> SessionDirectives<State, Event> {
        // Messages come first. Their promises may need a longer lease, which must be persisted.
        var directives =
            pending.hasMessages
            ? takeMessages() : SessionDirectives(persist: nil, confirmed: [], outgoing: [], alarms: [])
        if log.isWeightDue { boundCheckpoints() }
        keepLastApplied()
        directives.confirmed = announce()
        if !directives.confirmed.isEmpty, sealed {
            foldConfirmed()
            confirm()
        }
        directives.persist = takePersistence()
        return directives
    }

    /// Returns the events that the last call put in place, in order: more than one after a gap has closed.
    @inlinable
    public mutating func takeApplied() -> [SessionAppliedEvent<Event>] {
        keepLastApplied()
        defer { forgetApplied() }
        var events: [SessionAppliedEvent<Event>] = []
        events.reserveCapacity(applied.count)
        // No closures: in unspecialized code, each call of one would copy the engine.
        for applied in applied {
            guard let envelope = envelope(of: applied.entry) else { continue }
            events.append(
                SessionAppliedEvent(
                    envelope: envelope, outcome: applied.outcome, replayedCount: applied.replayedCount))
        }
        return events
    }

    /// Marks the side effect of the event confirmed at this position as done, and those of all events confirmed before
    /// it. Needed only with `options.keepsSideEffects`.
    public mutating func markSideEffects(through position: UInt64) {
        if due.mark(through: position) > 0, sealed { confirm() }
    }

    /// The confirmed events whose side effects haven't been marked. After a relaunch they run again; use the events'
    /// IDs to run them once. Empty without `options.keepsSideEffects`.
    public var sideEffectsDue: [SessionConfirmedEvent<Event>] { due.entries.compactMap(confirmedEvent) }

    private func confirmedEvent(_ confirmed: ConfirmedEntry<Event>) -> SessionConfirmedEvent<Event>? {
        Self.confirmed(confirmed, interpreter, sources, epochTag)
    }

    @inlinable
    static func confirmed(
        _ confirmed: ConfirmedEntry<Event>, _ interpreter: EventInterpreter<State, Event, Reducer, ConflictPolicy>,
        _ sources: SourceTable, _ epoch: UInt32
    ) -> SessionConfirmedEvent<Event>? {
        guard case .event(let event) = confirmed.entry.content else { return nil }
        var metadata = interpreter.metadata(of: confirmed.entry.header, in: sources)
        metadata.epoch = epoch
        return SessionConfirmedEvent(
            position: confirmed.position, envelope: SessionSyncEnvelope(metadata: metadata, payload: event),
            outcome: confirmed.entry.outcome ?? .applied)
    }

    @usableFromInline
    mutating func boundCheckpoints() {
        defer { log.isWeightDue = false }
        guard let weigh = options.encodedStateBytes else { return }
        let count = options.checkpointBytesMax / max(1, weigh(log.current.state))
        log.marksMax = min(max(count, EventLog<State, Event>.marksLowest), EventLog<State, Event>.marksHighest)
        log.thinOutMarks()
    }

    @usableFromInline
    mutating func takeMessages() -> SessionDirectives<State, Event> {
        let outgoing = takeOutgoing()
        defer { pending.alarms = [] }
        return SessionDirectives(persist: nil, confirmed: [], outgoing: outgoing, alarms: pending.alarms)
    }

    /// Copies the last applied entry, because the log may free it next.
    @inlinable
    mutating func keepLastApplied() {
        guard isLastApplied, let entry = log.entries.last else { return }
        isLastApplied = false
        applied.append(AppliedEntry(entry: entry, outcome: entry.outcome ?? .applied, replayedCount: 0))
    }

    /// Forgets the entries that the previous call applied.
    @inlinable
    mutating func forgetApplied() {
        isLastApplied = false
        if !applied.isEmpty { applied.removeAll(keepingCapacity: true) }
    }

    @usableFromInline
    mutating func takePersistence() -> SessionPersistence? {
        hasPersisted = true
        var appended: [SessionRange] = []
        for slot in sources.indices where sources[slot].held > sources[slot].persisted {
            let first = max(sources[slot].persisted, sources[slot].folded) + 1
            if first <= sources[slot].held {
                appended.append(
                    SessionRange(source: sources[slot].source, first: first, last: sources[slot].held))
            }
            sources[slot].persisted = sources[slot].held
        }
        let effects = due.takeChanges()
        guard
            !appended.isEmpty || pending.movesBase || pending.changesMembership || pending.replacesEverything
                || effects.marked > 0 || effects.added > 0
        else { return nil }
        let persistence = SessionPersistence(
            appended: appended, movesBase: pending.movesBase, changesMembership: pending.changesMembership,
            replacesEverything: pending.replacesEverything, sideEffectsMarked: effects.marked,
            sideEffectsAdded: effects.added)
        pending.movesBase = false
        pending.changesMembership = false
        pending.replacesEverything = false
        return persistence
    }

    // MARK: - Messages

    private mutating func takeOutgoing() -> [SessionOutgoing<State, Event>] {
        var outgoing: [SessionOutgoing<State, Event>] = []
        if pending.isDigestDue {
            outgoing.append(.control(makeControlEnvelope(isDigest: true, for: nil), to: nil))
        }
        for peerID in pending.controls.sorted() {
            let relays = pending.takeRelayAsks(of: peerID)
            // Without a request for relays and without a record, the digest to every peer is enough.
            guard !pending.isDigestDue || relays != nil || pending.records.contains(peerID) else { continue }
            var control = makeControlEnvelope(isDigest: false, for: nil)
            if pending.records.contains(peerID) { control.payload.record = record }
            control.payload.relays = relays
            outgoing.append(.control(control, to: peerID))
        }
        for (peerID, sequences) in pending.answers.sorted(by: { $0.key < $1.key }) {
            outgoing += answer(peerID, sequences)
        }
        for (peerID, ranges) in pending.relays.sorted(by: { $0.key < $1.key }) {
            let records = relayed(ranges)
            guard !records.isEmpty else { continue }
            let metadata = controlMetadata(SessionRelay<Event>.payloadType)
            outgoing.append(.relay(SessionSyncEnvelope(metadata: metadata, payload: SessionRelay(records)), to: peerID))
        }
        for peerID in pending.copies.sorted() {
            let control = makeControlEnvelope(isDigest: false, for: nil)
            var metadata = control.metadata
            metadata.payloadType = snapshotPayloadType
            metadata.sequence = sources[0].held + 1
            metadata.explicitEventID = nil
            var payload = control.payload
            payload.reissues = reissues.stretches.isEmpty ? nil : reissues.stretches
            outgoing.append(.checkpoint(makeCheckpoint(payload), metadata, to: peerID))
        }
        pending.isDigestDue = false
        pending.controls = []
        pending.records = []
        pending.answers = [:]
        pending.relays = [:]
        pending.copies = []
        return outgoing
    }

    /// - Parameter sequences: the sequences to send, in ascending order.
    private mutating func answer(_ peerID: String, _ sequences: [UInt64]) -> [SessionOutgoing<State, Event>] {
        let entries = log.entries(of: 0, sequences)
        let events = entries.compactMap(envelope)
        let replacements = entries.filter { $0.isReplacement }
        var outgoing: [SessionOutgoing<State, Event>] = events.isEmpty ? [] : [.events(events, to: peerID)]
        if !replacements.isEmpty {
            outgoing.append(.control(makeControlEnvelope(isDigest: false, for: replacements), to: peerID))
        }
        return outgoing
    }

    /// Makes the control that every message between engines carries.
    private mutating func makeControlEnvelope(
        isDigest: Bool, for replacements: [LogEntry<Event>]?
    ) -> SessionSyncEnvelope<SessionControl> {
        let metadata = controlMetadata(SessionControl.payloadType)
        let listed = listedSlots
        // All sources until the members have confirmed the base, because they may lack acknowledgements of it.
        let acknowledged = haveConfirmedBase() ? listed : Array(sources.indices)
        var control = SessionControl(
            group: groupName, members: sources.openSources.sorted(), firstSequence: sources[0].first,
            held: sources.vector(of: acknowledged) { $0.held },
            asks: tokens(of: listed) { $0.token }, echoes: tokens(of: listed) { $0.echo },
            wants: missing, isDigest: isDigest, replacements: (replacements ?? []).compactMap(replacementRecord),
            position: confirmationChain.position, chain: confirmationChain.value,
            clockEchoes: listed.compactMap { sources[$0].lastHeard },
            forked: listed.filter { sources[$0].isForked }
                .map { SourceSequence(source: sources[$0].source, sequence: sources[$0].held) })
        control.hasEnded = ended
        control.view = stance
        control.reissues = ownReissues
        control.silence = announcedSilence
        if isDigest { control.stateDigest = comparison.takeNext() }
        if hasMemberInOlderView {
            control.record = record
        }
        return SessionSyncEnvelope(metadata: metadata, payload: control)
    }

    private var record: SessionViewRecord { SessionViewRecord(number: stance.number, membership: membership) }

    /// True if a member hasn't reported yet that it is in this view.
    private var hasMemberInOlderView: Bool {
        stance.number > 0
            && sources.records.dropFirst().contains { $0.isOpen && $0.statement?.number ?? 0 < stance.number }
    }

    /// The metadata of a message between engines, with the promise.
    private mutating func controlMetadata(_ payloadType: String) -> SessionSyncMetadata {
        let stamp = clock.tick(wallMilliseconds: promisedMilliseconds)
        extendLease(beyond: stamp)
        var promise = SequencePromise(sequence: sources[0].held, stamp: stamp)
        if frozenAt != .max, let frozen = stance.change?.frozen { promise = frozen }
        return SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, eventID: controlID(stamp),
            sequence: 0, causalTimestamp: moment, payloadType: payloadType, stamp: stamp,
            incarnation: incarnation, epoch: epochTag, promise: promise)
    }

    private mutating func makeCheckpoint(_ control: SessionControl) -> SessionCheckpoint<State, Event> {
        SessionCheckpoint(
            control: control, membership: membership,
            base: SessionBase(reduced: log.base, vector: sources.vector { $0.folded }, count: log.baseCount),
            log: log.entries.map { $0.record(of: sources[$0.slot].source) }, settledCount: announcedCount,
            cut: cutStamp,
            chain: confirmationChain)
    }

    /// The envelope of an event in the log; nil for an entry that isn't an event of this type.
    @inlinable
    func envelope(of entry: LogEntry<Event>) -> SessionSyncEnvelope<Event>? {
        guard case .event(let event) = entry.content else { return nil }
        var metadata = interpreter.metadata(of: entry.header, in: sources)
        metadata.epoch = epochTag
        return SessionSyncEnvelope(metadata: metadata, payload: event)
    }

    private func replacementRecord(_ entry: LogEntry<Event>) -> SessionRecord<Never>? {
        guard case .replacement(let replacement) = entry.content else { return nil }
        return SessionRecord(
            source: source, sequence: entry.sequence, stamp: entry.stamp, causalTimestamp: entry.header.causalTimestamp,
            content: .replacement(replacement))
    }

    private func tokens(of slots: [Int], _ value: (SourceRecord) -> UInt32?) -> [LivenessToken] {
        slots.compactMap { slot in
            value(sources[slot]).map { LivenessToken(source: sources[slot].source, value: $0) }
        }
    }

    /// The time for the stamp of the next promise: the wall clock, or 0 while all events here are confirmed. With 0,
    /// each stamp is the successor of the last one, so the clock lease lasts and silence costs no write (rule 2 of
    /// Docs/Internals/Convergence.md).
    @usableFromInline
    var promisedMilliseconds: UInt64 { isQuiet ? 0 : wallMilliseconds }

    private var isQuiet: Bool {
        sealed && unconfirmedCount == 0 && gaps.isEmpty && stance.change == nil && !hasForkedMember
            && (!ended || isOver)
    }

    private var moment: Date { Date(timeIntervalSince1970: Double(wallMilliseconds) / 1000) }

    /// The ID of a control. Controls share sequence 0, so their stamp distinguishes them; the engine needs no
    /// randomness for it.
    private func controlID(_ stamp: HybridTimestamp) -> UUID {
        SessionSyncMetadata(
            sessionID: sessionID, featureID: featureID, sourcePeerID: localPeerID, sequence: .max,
            causalTimestamp: moment, payloadType: SessionControl.payloadType, stamp: stamp, incarnation: incarnation
        ).eventID
    }
}
