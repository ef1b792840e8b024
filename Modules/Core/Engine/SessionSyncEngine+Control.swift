public import MeshFoundation
public import MeshIdentity

extension SessionSyncEngine {
    /// Takes another engine's control: acknowledgements, promise, membership, requests.
    ///
    /// - Throws: as `receive`; nothing changes then.
    @inlinable
    public mutating func receiveControl(_ envelope: SessionSyncEnvelope<SessionControl>, at moment: Date) throws {
        try takeControl(envelope, at: moment)
        advance()
    }

    /// Takes another engine's copy: adopts it when unsealed and named in it, else reads it like a control.
    ///
    /// - Parameter metadata: the snapshot's with which it came.
    /// - Returns: whether it was adopted.
    /// - Throws: as `receive`; nothing changes then.
    @discardableResult
    public mutating func adopt(
        _ checkpoint: SessionCheckpoint<State, Event>, from metadata: SessionSyncMetadata, at moment: Date
    ) throws -> Bool {
        try check(metadata, payloadType: snapshotPayloadType)
        let message = try EngineMessage(metadata, checkpoint.control, checkpoint)
        let isAdopted = try take(message, at: moment)
        advance()
        return isAdopted
    }

    /// Makes the periodic control to every peer. Call it about once a second, and more often while something is missing.
    @inlinable
    public mutating func tick(at moment: Date) { tick(at: moment, speaks: true) }

    /// Lets time pass, and makes the periodic control unless there is no peer to hear it.
    @usableFromInline
    package mutating func tick(at moment: Date, speaks: Bool) {
        isReferenceOnly = false
        forgetApplied()
        if beganAt == nil { beganAt = moment }
        wallMilliseconds = moment.wallMilliseconds
        if speaks { pending.isDigestDue = true }
        pass(takeElapsed(moment))
        _ = clock.tick(wallMilliseconds: promisedMilliseconds)
        advance()
    }

    /// States the time within which the caller ticks again: each control carries it, and receivers judge by it who has gone.
    package mutating func announce(silenceMilliseconds: UInt64) { announcedSilence = silenceMilliseconds }

    /// Milliseconds since the last tick; the first one counts as an interval. A device that slept has not waited: no more
    /// passes than it had announced.
    private mutating func takeElapsed(_ moment: Date) -> UInt64 {
        defer { tickedAt = moment }
        guard let tickedAt else { return options.exchangeMilliseconds }
        let elapsed = UInt64(max(0, moment.timeIntervalSince(tickedAt) * 1_000).rounded())
        return min(elapsed, max(announcedSilence ?? 0, options.exchangeMilliseconds))
    }

    @usableFromInline
    mutating func takeControl(_ envelope: SessionSyncEnvelope<SessionControl>, at moment: Date) throws {
        try check(envelope.metadata, payloadType: SessionControl.payloadType)
        _ = try take(EngineMessage(envelope.metadata, envelope.payload), at: moment)
    }

    private mutating func take(_ message: EngineMessage<State, Event>, at moment: Date) throws -> Bool {
        isReferenceOnly = false
        forgetApplied()
        wallMilliseconds = max(wallMilliseconds, moment.wallMilliseconds)
        guard message.source != source else { return false }
        guard hears(message.source.peerID) || mayJoin(message.source.peerID) else {
            pending.raise(.notAdmitted(message.source))
            return false
        }
        let slot = try slot(adding: message.source)
        // An old incarnation, late, or somebody who has not heard that it was let go.
        guard !sources[slot].isClosed else {
            hearClosed(message)
            return false
        }
        measureClock(message, slot, moment)
        let facts = StoredFacts(sources[slot])
        defer { noteChange(of: facts, slot) }
        takeReport(message, of: slot)
        if let ask = message.control.asks.first(where: { $0.source == source }) { sources[slot].echo = ask.value }
        takeForks(message.control, of: message.source.peerID)
        if let group = message.control.group {
            if group == home { homeSilence = 0 }
            hear(of: group, in: message)
        }
        if hearsClosing(message.control) { return false }
        if isMember(message.source.peerID) || isTrusted(message.source.peerID), hearNewerView(message) {
            return false
        }
        if yields(to: message) { return false }
        let isMember = message.control.group != nil && message.control.group == groupName && sources[slot].isOpen
        if isMember, message.control.members.contains(source) {
            takeFromMember(message, slot)
            return false
        }
        let number = message.control.view?.number ?? 0
        if isMember, number < stance.number {
            // It has not heard of the view by which this one has joined.
            pending.controls.insert(message.source.peerID)
            return false
        }
        if isMember ? sealed && namesSuccessor(message, slot) : knowsSuccessor(message) {
            raiseFork(0, sources[0].held)
        }
        // It has gone on by the word of its user, and will hear from this one.
        if isMember, stance.number > 0 { return false }
        return try takeFromStranger(message, slot)
    }

    /// Promises, and when a peer spoke last, are not worth a write: what a store has of them is lower, and so still true.
    private mutating func noteChange(of facts: StoredFacts, _ slot: Int) {
        guard slot >= sources.records.count || StoredFacts(sources[slot]) != facts else { return }
        pending.changesMembership = true
    }

    /// What a peer knows of a second store of this source.
    private mutating func takeForks(_ control: SessionControl, of peerID: String) {
        guard groupName == nil || isMember(peerID) else { return }
        for fork in control.forked where fork.source == source { raiseFork(0, fork.sequence) }
        // Somebody holds more of this source than its store has ever written: it is an older copy of itself.
        if control.held[source] > sources[0].held { raiseFork(0, control.held[source]) }
    }

    /// A member that knows as much as this one does, and said it after this one joined, has replaced it: this store was
    /// put aside while its peer went on under another name.
    private func namesSuccessor(_ message: EngineMessage<State, Event>, _ slot: Int) -> Bool {
        guard let promise = message.promise, message.saidAt > sources[0].floor, promise.sequence >= sources[slot].held
        else { return false }
        return message.control.members.contains { $0.peerID == localPeerID }
    }

    /// A group that took events of this source and has another one of this peer now: this store is older than its join.
    private func knowsSuccessor(_ message: EngineMessage<State, Event>) -> Bool {
        message.control.group != nil && message.control.held[source] > 0 && !message.control.members.contains(source)
            && message.control.members.contains { $0.peerID == localPeerID }
    }

    private mutating func measureClock(_ message: EngineMessage<State, Event>, _ slot: Int, _ moment: Date) {
        sources[slot].lastHeard = ClockEcho(source: message.source, sentAt: message.sentAt, receivedAt: moment)
        guard let echo = message.control.clockEchoes.first(where: { $0.source == source }),
            // The clock of an earlier launch may have been another one.
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

    /// A message of the group from a member that lists this one: this, and adopting, are the only things that seal.
    private mutating func takeFromMember(_ message: EngineMessage<State, Event>, _ slot: Int) {
        let control = message.control
        if !sealed { seal() }
        if let word = wishes.overridden[message.source], message.saidAt > word {
            wishes.overridden[message.source] = nil
        }
        if !isQuarantined(sources[slot].source) {
            // It never goes back; that of a store that did would leave a hole below what is here.
            sources[slot].first = max(sources[slot].first, control.firstSequence)
            if control.firstSequence > 0 { sources[slot].held = max(sources[slot].held, control.firstSequence - 1) }
        }
        let view = control.view?.number ?? 0
        if view <= stance.number {
            if let promise = message.promise {
                observe(promise.stamp, of: slot)
                sources.take(promise, of: slot)
            }
            sources[slot].position = max(sources[slot].position, control.position)
            takeAcknowledgements(control.held, slot, message.saidAt)
        }
        takeReplacements(control.replacements, slot)
        for stretch in control.reissues ?? [] where stretch.name.source == message.source {
            reissues.add(stretch)
            pending.changesMembership = true
        }
        drainGap(slot)
        sources.settlePromises(of: slot)
        if control.hasEnded { takeEnd(slot) }
        compareChains(control, slot)
        if let digest = control.stateDigest { compareStates(digest, slot) }
        answerRanges(control, slot)
        answerRelays(control, to: slot)
        takeFirsts(control, of: slot)
        sources[slot].knowsNoViews = control.view == nil
        if let view = control.view { hear(view, of: slot) }
    }

    private mutating func takeAcknowledgements(_ held: SequenceVector, _ slot: Int, _ stamp: HybridTimestamp) {
        let known = sources.slots(of: held.entries)
        if stamp > sources[slot].lastSaid {
            sources[slot].lastSaid = stamp
            checkGoesForward(held, known, slot)
        }
        for (entry, known) in zip(held.entries, known) {
            guard let known else { continue }
            sources[slot].acknowledge(known, entry.sequence)
        }
    }

    /// What was held once is held for good; a member that says otherwise later is an older copy of itself.
    private mutating func checkGoesForward(_ held: SequenceVector, _ known: [Int?], _ slot: Int) {
        var now = [UInt64](repeating: 0, count: sources.records.count)
        for (entry, known) in zip(held.entries, known) {
            if let known { now[known] = max(now[known], entry.sequence) }
        }
        for known in sources.indices where sources[known].isOpen && sources[slot].acknowledged(known) > now[known] {
            return raiseFork(slot, sources[slot].held)
        }
    }

    private mutating func takeReplacements(_ replacements: [SessionRecord<Never>], _ slot: Int) {
        for record in replacements where record.source == sources[slot].source {
            guard case .replacement(let replacement) = record.content else { continue }
            let record = SessionRecord<Event>(
                source: record.source, sequence: record.sequence, stamp: record.stamp,
                causalTimestamp: record.causalTimestamp, content: .replacement(replacement))
            _ = take(LogEntry(record, slot: slot))
        }
    }

    /// Of two members that have confirmed different events the lower peer id keeps its order, the other joins anew.
    private mutating func compareChains(_ control: SessionControl, _ slot: Int) {
        guard control.position > 0, confirmationChain.agrees(at: control.position, with: control.chain) == false else {
            return
        }
        pending.raise(.diverged(position: control.position))
        if sources[slot].source < source { raiseFork(0, sources[0].held) }
    }

    /// Own events only: their author keeps them until all have acknowledged, so a range is never gone for a member.
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
                // What is asked for first is the oldest, at the beginning of a long log.
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

/// The facts about a source that a message can change and that the receiver's store must have.
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

/// A message between engines about what they hold, who is a member and what is missing.
///
/// Travels as an envelope of `payloadType`, sequence 0, in the mode `.acknowledgement`; the envelope's metadata carries
/// the promise. No engine logs it, and peers without it still work by snapshots.
public struct SessionControl: Hashable, Sendable, Codable {
    /// `SessionSyncMetadata.payloadType` of the envelopes that carry controls.
    package static let payloadType = "sessionmesh.control"
    /// Maximum number of milliseconds that a receiver waits for a sender's next control.
    package static let silenceMax: UInt64 = 300_000

    /// The group is named after the source that founded it; nil before there is one.
    package var group: SessionSource?
    /// The open members, as the sender knows them.
    package var members: [SessionSource]
    /// The sender's first sequence in the group; everything before it is void.
    package var firstSequence: UInt64
    /// Everything up to here is held without a gap, and stored: an acknowledgement.
    package var held: SequenceVector
    /// Fresh random numbers that the named sources are to return: proof that they live now.
    package var asks: [LivenessToken]
    /// Numbers returned to those who asked.
    package var echoes: [LivenessToken]
    /// What the sender lacks of each source.
    package var wants: [SessionRange]
    /// The receiver is to answer with what `held` shows to be missing.
    package var isDigest: Bool
    /// Replacements that the sender authored and that are part of its sequence.
    package var replacements: [SessionRecord<Never>]
    /// How many events the sender has confirmed, and the chain over them.
    package var position: UInt64
    /// The fingerprint of the events up to `position`; see ``ConfirmationChain/value``.
    package var chain: UInt64
    /// When the sender last heard of whom, for the estimate of clock offsets.
    package var clockEchoes: [ClockEcho]
    /// Sources of which the sender has seen two events of one sequence.
    package var forked: [SourceSequence]
    /// Where the sender stands between views; nil of a version that knows none.
    package var view: ViewStatement?
    /// The sender's view, for members that are not in it yet.
    package var record: SessionViewRecord?
    /// What the receiver is asked to hand on of others' events.
    package var relays: [SessionRange]?
    /// The sender's newest state digest, for some time after it was made; earlier versions neither say nor read it.
    package var stateDigest: StateDigest?
    /// What was issued again under other names: of the sender's own while they are unconfirmed, in a copy all. Earlier versions
    /// neither say nor read it.
    package var reissues: [SessionReissue]?
    /// Milliseconds until the sender's next control at the latest; earlier versions neither say nor read it.
    package var silence: UInt64?
    /// Forms of messages that the sender reads beside this one, as bits; earlier versions neither say nor read it.
    package var reads: UInt64?
    /// Left out unless it is true: earlier versions neither say nor hear it.
    private var ended: Bool?

    /// The session is over: the sender submits no more events, and neither shall the receiver.
    package var hasEnded: Bool {
        get { ended ?? false }
        set { ended = newValue ? true : nil }
    }

    /// A control that says nothing, unless told otherwise.
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
    /// The source that is to return it.
    package var source: SessionSource
    /// Drawn by the engine that asks.
    package var value: UInt32

    /// A token for one source.
    package init(source: SessionSource, value: UInt32) {
        self.source = source
        self.value = value
    }
}

/// What a message between engines says, whether it came as a control or with a copy, with every number in range.
///
/// There is no other way from a peer's bytes to the engine's tables: what an engine could not have counted, drawn or
/// listed ends here, so that no sum over it overflows further in.
struct EngineMessage<State: Codable & Sendable, Event: Codable & Sendable> {
    let source: SessionSource
    let sentAt: Date
    let promise: SequencePromise?
    /// Its place among the messages of its author.
    let saidAt: HybridTimestamp
    let control: SessionControl
    let checkpoint: SessionCheckpoint<State, Event>?

    /// - Throws: `SessionSyncError.outOfRange`.
    init(
        _ metadata: SessionSyncMetadata, _ control: SessionControl,
        _ checkpoint: SessionCheckpoint<State, Event>? = nil
    ) throws {
        source = SessionSource(metadata)
        sentAt = metadata.causalTimestamp
        // A promise that no clock could keep is none.
        promise = metadata.promise.flatMap { $0.isUsable ? $0 : nil }
        saidAt = metadata.stamp.isUsable ? metadata.stamp : .zero
        self.control = control
        self.checkpoint = checkpoint
        try control.checkNumbers()
        try checkpoint?.checkNumbers()
    }
}
