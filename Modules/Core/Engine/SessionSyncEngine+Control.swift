public import MeshFoundation
public import MeshIdentity

// Controls: messages between engines that are never logged (rules 2, 5, 6, 8, 13 and 18 of
// Docs/Internals/Convergence.md).
// - Digest: the periodic control to every peer, which asks for all that the sender lacks.
// - Liveness token: a random number that a source must return, to prove that it lives now.

extension SessionSyncEngine {
    /// Takes another engine's control: acknowledgements, promise, membership, requests.
    ///
    /// - Throws: the errors of `receive`. Nothing changes then.
    @inlinable
    public mutating func receiveControl(_ envelope: SessionSyncEnvelope<SessionControl>, at moment: Date) throws {
        try handleControl(envelope, at: moment)
        advance()
    }

    /// Takes another engine's copy. Adopts it if this engine is unsealed and listed in it; otherwise reads it like a
    /// control.
    ///
    /// - Parameter metadata: the metadata of the snapshot that carried the copy.
    /// - Returns: true if the copy was adopted.
    /// - Throws: the errors of `receive`. Nothing changes then.
    @discardableResult
    public mutating func adopt(
        _ checkpoint: SessionCheckpoint<State, Event>, from metadata: SessionSyncMetadata, at moment: Date
    ) throws -> Bool {
        try check(metadata, payloadType: snapshotPayloadType)
        let message = try EngineMessage(metadata, checkpoint.control, checkpoint)
        let isAdopted = try handle(message, at: moment)
        advance()
        return isAdopted
    }

    /// Prepares the periodic control to every peer. Call it about once a second, and more often while events are
    /// missing.
    @inlinable
    public mutating func tick(at moment: Date) { tick(at: moment, sendsDigest: true) }

    /// Advances time, and prepares the periodic control if `sendsDigest` is true.
    @usableFromInline
    package mutating func tick(at moment: Date, sendsDigest: Bool) {
        isReferenceOnly = false
        forgetApplied()
        if beganAt == nil { beganAt = moment }
        wallMilliseconds = moment.wallMilliseconds
        if sendsDigest { pending.isDigestDue = true }
        pass(takeElapsed(moment))
        _ = clock.tick(wallMilliseconds: promisedMilliseconds)
        advance()
    }

    /// States the time within which the caller ticks again. Each control carries it, so receivers can tell when this
    /// peer has gone.
    package mutating func announce(silenceMilliseconds: UInt64) { announcedSilence = silenceMilliseconds }

    /// Returns the milliseconds since the last tick; for the first tick, one exchange. The result is at most the
    /// announced silence or one exchange, whichever is longer: a device that slept hasn't waited.
    private mutating func takeElapsed(_ moment: Date) -> UInt64 {
        defer { tickedAt = moment }
        guard let tickedAt else { return options.exchangeMilliseconds }
        let elapsed = UInt64(max(0, moment.timeIntervalSince(tickedAt) * 1_000).rounded())
        return min(elapsed, max(announcedSilence ?? 0, options.exchangeMilliseconds))
    }

    @usableFromInline
    mutating func handleControl(_ envelope: SessionSyncEnvelope<SessionControl>, at moment: Date) throws {
        try check(envelope.metadata, payloadType: SessionControl.payloadType)
        _ = try handle(EngineMessage(envelope.metadata, envelope.payload), at: moment)
    }

    private mutating func handle(_ message: EngineMessage<State, Event>, at moment: Date) throws -> Bool {
        isReferenceOnly = false
        forgetApplied()
        wallMilliseconds = max(wallMilliseconds, moment.wallMilliseconds)
        guard message.source != source else { return false }
        guard hears(message.source.peerID) || mayJoin(message.source.peerID) else {
            pending.raise(.notAdmitted(message.source))
            return false
        }
        let slot = try slot(adding: message.source)
        // A closed source is an earlier incarnation whose message is late, or a member that doesn't know that it was
        // closed.
        guard !sources[slot].isClosed else {
            answerRemovedMember(message)
            return false
        }
        measureClock(message, slot, moment)
        let facts = StoredFacts(sources[slot])
        defer { noteChange(of: facts, slot) }
        recordReport(message, of: slot)
        if let ask = message.control.asks.first(where: { $0.source == source }) { sources[slot].echo = ask.value }
        handleForkReports(in: message.control, of: message.source.peerID)
        if let group = message.control.group {
            if group == groupToRejoin { rejoinSilence = 0 }
            noteGroup(group, in: message)
        }
        if noticeOwnRemoval(in: message.control) { return false }
        if isMember(message.source.peerID) || isTrusted(message.source.peerID), handleNewerView(message) {
            return false
        }
        if yieldIfOutranked(by: message) { return false }
        let isMember = message.control.group != nil && message.control.group == groupName && sources[slot].isOpen
        if isMember, message.control.members.contains(source) {
            handleMemberMessage(message, slot)
            return false
        }
        let number = message.control.view?.number ?? 0
        if isMember, number < stance.number {
            // The sender hasn't heard of the view by which this engine joined.
            pending.controls.insert(message.source.peerID)
            return false
        }
        if isMember ? sealed && namesSuccessor(message, slot) : knowsSuccessor(message) {
            raiseFork(0, sources[0].held)
        }
        // The sender has continued by its user's decision. It will get this engine's controls.
        if isMember, stance.number > 0 { return false }
        return try handleNonmemberMessage(message, slot)
    }

    /// Requests a write if a change must be stored. A newer promise or message time needs none: the stored value is
    /// lower, and so still true.
    private mutating func noteChange(of facts: StoredFacts, _ slot: Int) {
        guard slot >= sources.records.count || StoredFacts(sources[slot]) != facts else { return }
        pending.changesMembership = true
    }

    /// Handles reports that another store has used this source's name.
    private mutating func handleForkReports(in control: SessionControl, of peerID: String) {
        guard groupName == nil || isMember(peerID) else { return }
        for fork in control.forked where fork.source == source { raiseFork(0, fork.sequence) }
        // The peer holds more of this source than its store has ever written, so the store is an older copy.
        if control.held[source] > sources[0].held { raiseFork(0, control.held[source]) }
    }

    /// True if a member lists another source of this peer, in a message sent after this source joined and not older
    /// than what is held here. The peer has then continued under another name, without this store.
    private func namesSuccessor(_ message: EngineMessage<State, Event>, _ slot: Int) -> Bool {
        guard let promise = message.promise, message.stamp > sources[0].floor, promise.sequence >= sources[slot].held
        else { return false }
        return message.control.members.contains { $0.peerID == localPeerID }
    }

    /// True if a group holds events of this source but lists another one of this peer: this store is outdated.
    private func knowsSuccessor(_ message: EngineMessage<State, Event>) -> Bool {
        message.control.group != nil && message.control.held[source] > 0 && !message.control.members.contains(source)
            && message.control.members.contains { $0.peerID == localPeerID }
    }

    private mutating func measureClock(_ message: EngineMessage<State, Event>, _ slot: Int, _ moment: Date) {
        sources[slot].lastHeard = ClockEcho(source: message.source, sentAt: message.sentAt, receivedAt: moment)
        guard let echo = message.control.clockEchoes.first(where: { $0.source == source }),
            // An earlier launch may have had another clock.
            beganAt.map({ $0 <= echo.sentAt }) ?? true
        else { return }
        var trips = sources.roundTrips(with: message.source.peerID)
        let isConclusive = trips.add(
            sentHere: echo.sentAt, receivedThere: echo.receivedAt, sentThere: message.sentAt, receivedHere: moment)
        guard isConclusive else {
            pending.controls.insert(message.source.peerID)
            return
        }
        sources.setRoundTrips(trips, at: slot)
    }

    /// Handles a group message from a member that lists this engine. Only that, or adopting a copy, seals an engine.
    private mutating func handleMemberMessage(_ message: EngineMessage<State, Event>, _ slot: Int) {
        let control = message.control
        if !sealed { seal() }
        if let removal = membershipIntent.removedByUser[message.source], message.stamp > removal {
            membershipIntent.removedByUser[message.source] = nil
        }
        if !isQuarantined(sources[slot].source) { sources.raiseFirst(of: slot, to: control.firstSequence) }
        let view = control.view?.number ?? 0
        if view <= stance.number {
            if let promise = message.promise {
                observe(promise.stamp, of: slot)
                sources.take(promise, of: slot)
            }
            sources[slot].position = max(sources[slot].position, control.position)
            recordAcknowledgements(control.held, slot, message.stamp)
        }
        insertReplacements(control.replacements, slot)
        for stretch in control.reissues ?? [] where stretch.name.source == message.source {
            reissues.add(stretch)
            pending.changesMembership = true
        }
        drainGap(slot)
        sources.activatePromises(of: slot)
        if control.hasEnded { handleEnd(from: slot) }
        compareChains(control, slot)
        if let digest = control.stateDigest { compareStates(digest, slot) }
        answerRanges(control, slot)
        answerRelays(control, to: slot)
        adoptFirstSequences(control, of: slot)
        sources[slot].knowsNoViews = control.view == nil
        if let view = control.view { handle(view, from: slot) }
    }

    private mutating func recordAcknowledgements(_ held: SequenceVector, _ slot: Int, _ stamp: HybridTimestamp) {
        let known = sources.slots(of: held.entries)
        if stamp > sources[slot].lastControlStamp {
            sources[slot].lastControlStamp = stamp
            checkNoRegression(held, known, slot)
        }
        for (entry, known) in zip(held.entries, known) {
            guard let known else { continue }
            sources[slot].acknowledge(known, entry.sequence)
        }
    }

    /// Raises a fork if a member acknowledges less than before. Held events stay held, so its store is an older copy.
    private mutating func checkNoRegression(_ held: SequenceVector, _ known: [Int?], _ slot: Int) {
        var now = [UInt64](repeating: 0, count: sources.records.count)
        for (entry, known) in zip(held.entries, known) {
            if let known { now[known] = max(now[known], entry.sequence) }
        }
        for known in sources.indices where sources[known].isOpen && sources[slot].acknowledged(known) > now[known] {
            return raiseFork(slot, sources[slot].held)
        }
    }

    private mutating func insertReplacements(_ replacements: [SessionRecord<Never>], _ slot: Int) {
        for record in replacements where record.source == sources[slot].source {
            guard case .replacement(let replacement) = record.content else { continue }
            let record = SessionRecord<Event>(
                source: record.source, sequence: record.sequence, stamp: record.stamp,
                causalTimestamp: record.causalTimestamp, content: .replacement(replacement))
            _ = take(LogEntry(record, slot: slot))
        }
    }

    /// Compares confirmed prefixes. If they differ, the lower peer ID keeps its order and the other member joins again.
    private mutating func compareChains(_ control: SessionControl, _ slot: Int) {
        guard control.position > 0, confirmationChain.agrees(at: control.position, with: control.chain) == false else {
            return
        }
        pending.raise(.diverged(position: control.position))
        if sources[slot].source < source { raiseFork(0, sources[0].held) }
    }

    /// Answers requests for own events only. This engine keeps those until all members have acknowledged them.
    private mutating func answerRanges(_ control: SessionControl, _ slot: Int) {
        let wants = control.wants.filter { $0.source == source }
        let lacks = control.isDigest ? control.held[source] : .max
        guard lacks < sources[0].held || !wants.isEmpty else { return }
        let lowest = wants.reduce(lacks == .max ? .max : lacks + 1) { min($0, $1.first) }
        guard let start = log.firstPlace(of: 0, notBelow: lowest) else { return }
        let found = log.withHeaders { header in
            var found: [UInt64] = []
            for place in start..<log.entries.count where header(place).slot == 0 {
                let sequence = header(place).sequence
                guard sequence > lacks || wants.contains(where: { $0.first <= sequence && sequence <= $0.last }) else {
                    continue
                }
                found.append(sequence)
                // These are the oldest ones. The member requests the rest again.
                if found.count >= options.rangeMax { break }
            }
            return found
        }
        pending.answer(sources[slot].source.peerID, found, limit: options.rangeMax)
    }

    mutating func seal() {
        sealed = true
        provisional = nil
        skipped = 0
        forgetGapsOfOthers()
        pending.changesMembership = true
    }
}

/// The parts of a source's record that a message can change and that the store must have.
private struct StoredFacts: Equatable {
    let first: UInt64
    let held: UInt64
    let acknowledged: [UInt64]
    let pendingPromises: [SequencePromise]

    init(_ record: SourceRecord) {
        (first, held, acknowledged) = (record.first, record.held, record.acknowledged)
        pendingPromises = record.promises.pending
    }
}

extension SessionSource {
    init(_ metadata: SessionSyncMetadata) {
        self.init(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
    }
}

/// A message between engines about held events, members and missing events.
///
/// Travels in an envelope of `payloadType` with sequence 0 and the mode `.acknowledgement`. The envelope's metadata
/// carries the promise. No engine logs it, and peers that don't know it still work by snapshots.
public struct SessionControl: Hashable, Sendable, Codable {
    /// `SessionSyncMetadata.payloadType` of the envelopes that carry controls.
    package static let payloadType = "sessionmesh.control"
    /// Maximum number of milliseconds that a receiver waits for a sender's next control.
    package static let silenceMax: UInt64 = 300_000

    /// The name of the group, which is the source that founded it; nil before there is one.
    package var group: SessionSource?
    /// The open members, as the sender knows them.
    package var members: [SessionSource]
    /// The sender's first sequence in the group. Everything before it is void.
    package var firstSequence: UInt64
    /// The acknowledgement: everything up to here is held without a gap, and stored.
    package var held: SequenceVector
    /// Fresh random numbers that the named sources must return to prove that they live now.
    package var asks: [LivenessToken]
    /// The numbers that are returned to the sources that asked.
    package var echoes: [LivenessToken]
    /// The events that the sender lacks, for each source.
    package var wants: [SessionRange]
    /// True if the receiver should send the events that `held` shows to be missing.
    package var isDigest: Bool
    /// Replacements that the sender authored and that are part of its sequence.
    package var replacements: [SessionRecord<Never>]
    /// The number of events that the sender has confirmed.
    package var position: UInt64
    /// The fingerprint of the events up to `position`; see ``ConfirmationChain/value``.
    package var chain: UInt64
    /// The times of the last message from each source, for estimates of clock offsets.
    package var clockEchoes: [ClockEcho]
    /// Sources of which the sender has seen two events with one sequence.
    package var forked: [SourceSequence]
    /// The sender's position between views; nil in versions without views.
    package var view: ViewStatement?
    /// The sender's view, for members that are not in it yet.
    package var record: SessionViewRecord?
    /// Events of others that the receiver should relay.
    package var relays: [SessionRange]?
    /// The sender's newest state digest, sent for some time after it was made. Earlier versions ignore it.
    package var stateDigest: StateDigest?
    /// The events issued again under other names. A copy lists all of them, any other message the sender's own
    /// unconfirmed ones. Earlier versions ignore it.
    package var reissues: [SessionReissue]?
    /// Maximum number of milliseconds until the sender's next control. Earlier versions ignore it.
    package var silence: UInt64?
    /// Bit set of further message forms that the sender can read. Earlier versions ignore it.
    package var reads: UInt64?
    /// Encoded only if true. Earlier versions ignore it.
    private var ended: Bool?

    /// True if the session has ended: the sender submits no more events, and the receiver must not either.
    package var hasEnded: Bool {
        get { ended ?? false }
        set { ended = newValue ? true : nil }
    }

    /// Creates a control, by default an empty one.
    package init(
        group: SessionSource? = nil, members: [SessionSource] = [], firstSequence: UInt64 = 1,
        held: SequenceVector = SequenceVector(), asks: [LivenessToken] = [], echoes: [LivenessToken] = [],
        wants: [SessionRange] = [], isDigest: Bool = false, replacements: [SessionRecord<Never>] = [],
        position: UInt64 = 0, chain: UInt64 = 0, clockEchoes: [ClockEcho] = [], forked: [SourceSequence] = []
    ) {
        self.group = group
        self.members = members
        self.firstSequence = firstSequence
        self.held = held
        self.asks = asks
        self.echoes = echoes
        self.wants = wants
        self.isDigest = isDigest
        self.replacements = replacements
        self.position = position
        self.chain = chain
        self.clockEchoes = clockEchoes
        self.forked = forked
    }
}

/// A random number for one source.
public struct LivenessToken: Hashable, Sendable, Codable {
    /// The source that should return the number.
    package var source: SessionSource
    /// The random number, generated by the engine that asks.
    package var value: UInt32

    /// Creates a token for one source.
    package init(source: SessionSource, value: UInt32) {
        self.source = source
        self.value = value
    }
}

/// A message between engines, received as a control or with a copy, with every number in range (rule 13 of
/// Docs/Internals/Convergence.md).
///
/// A peer's bytes reach the engine's tables only through this type. It refuses numbers that no engine could have
/// counted, so sums over them can't overflow later.
struct EngineMessage<State: Codable & Sendable, Event: Codable & Sendable> {
    let source: SessionSource
    let sentAt: Date
    let promise: SequencePromise?
    /// The stamp that orders the messages of one author.
    let stamp: HybridTimestamp
    let control: SessionControl
    let checkpoint: SessionCheckpoint<State, Event>?

    /// - Throws: `SessionSyncError.outOfRange`.
    init(
        _ metadata: SessionSyncMetadata, _ control: SessionControl,
        _ checkpoint: SessionCheckpoint<State, Event>? = nil
    ) throws {
        source = SessionSource(metadata)
        sentAt = metadata.causalTimestamp
        // A promise that is out of range is ignored.
        promise = metadata.promise.flatMap { $0.isUsable ? $0 : nil }
        stamp = metadata.stamp.isUsable ? metadata.stamp : .zero
        self.control = control
        self.checkpoint = checkpoint
        try control.checkNumbers()
        try checkpoint?.checkNumbers()
    }
}
