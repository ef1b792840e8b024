package import MeshEngine
package import MeshFoundation
package import MeshIdentity

/// The source of a forger's choices: a seed in the simulator, the input in a fuzzer.
package protocol ForgeryChoices {
    /// Returns a number in 0..<`limit`.
    mutating func below(_ limit: Int) -> Int
    mutating func word() -> UInt64
}

/// A forged message to an engine.
package enum ForgedMessage<State: Codable & Sendable, Event: Codable & Sendable> {
    case event(SessionSyncEnvelope<Event>)
    case control(SessionSyncEnvelope<SessionControl>)
    case checkpoint(SessionCheckpoint<State, Event>, SessionSyncMetadata)
    case snapshot(SessionSyncSnapshot<State>)
    case relay(SessionSyncEnvelope<SessionRelay<Event>>)
}

/// Forges a hostile peer's messages to an engine, with full knowledge of the engine.
///
/// The transport proves the sender, so each message has its sender's peer ID. Its content may name any peer. Most of
/// its numbers are limits of arithmetic, or close to numbers that the engine holds.
package struct EngineForger<Choices: ForgeryChoices> {
    package var choices: Choices
    /// The sender.
    package let liar: SessionSource
    /// Sources to name, in addition to the victim and its members.
    package var others: [SessionSource] = []
    /// Liveness tokens that the victim expects back.
    package var tokens: [LivenessToken] = []
    /// The wall clock's time for forged stamps and dates.
    package var moment: Date
    /// True to exclude lies that a group of three detects only by comparing messages to different members. These are:
    /// events whose numbers other events could have, claims that the victim has forked or was replaced, and a different
    /// history.
    package var isConsistent = false
    /// True to also forge statements about views, and relays of events that other peers supposedly wrote.
    package var includesViews = false

    package init(_ choices: Choices, liar: SessionSource, moment: Date) {
        self.choices = choices
        self.liar = liar
        self.moment = moment
    }

    package mutating func forgedMessage<State, Event, Reducer, Policy>(
        to victim: SessionSyncEngine<State, Event, Reducer, Policy>, event: Event
    ) -> ForgedMessage<State, Event> {
        switch choices.below(includesViews ? 9 : 8) {
        case 8: .relay(forgedRelay(victim, event))
        case 0...1: .event(forgedEvent(victim, event))
        case 2...4: .control(forgedControl(victim))
        case 5...6: forgedCheckpoint(victim, event)
        default: .snapshot(forgedSnapshot(victim))
        }
    }
}

// MARK: - Messages

extension EngineForger {
    private mutating func forgedEvent<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>, _ event: Event
    ) -> SessionSyncEnvelope<Event> {
        var metadata = metadata(victim, victim.payloadType)
        let held = victim.held[SessionSource(peerID: liar.peerID, incarnation: metadata.incarnation)]
        metadata.sequence = number(near: held)
        if happens(1, of: 4) { metadata.sequence = held &+ 1 }
        if isConsistent { metadata.sequence = max(metadata.sequence, unused(held)) }
        return SessionSyncEnvelope(metadata: metadata, payload: event)
    }

    private mutating func forgedControl<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> SessionSyncEnvelope<SessionControl> {
        var metadata = metadata(victim, SessionControl.payloadType)
        metadata.sequence = happens(1, of: 8) ? number() : 0
        metadata.promise = SequencePromise(
            sequence: number(near: victim.held[liar]), stamp: stamp(near: victim.cut))
        return SessionSyncEnvelope(metadata: metadata, payload: control(victim))
    }

    private mutating func forgedCheckpoint<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>, _ event: Event
    ) -> ForgedMessage<State, Event> {
        var metadata = metadata(victim, victim.snapshotPayloadType)
        metadata.promise = SequencePromise(sequence: number(near: victim.held[liar]), stamp: stamp(near: victim.cut))
        var base = victim.baseImage
        var membership = victim.membership
        var log = victim.records
        if happens(1, of: 2) { base.vector = SequenceVector(claims(victim, count: choices.below(4))) }
        if happens(1, of: 3) { base.count = number(near: base.count) }
        if happens(1, of: 3) { membership.closed += claims(victim, count: choices.below(3)) }
        if happens(1, of: 3) { membership.first += claims(victim, count: choices.below(3)) }
        if happens(1, of: 2), !membership.open.contains(where: { $0.source == victim.source }) {
            membership.open.append(.init(source: victim.source))
        }
        if happens(1, of: 2) { membership.open.append(.init(source: liar)) }
        for index in membership.open.indices where happens(1, of: 4) {
            membership.open[index].floor = stamp(near: membership.open[index].floor)
        }
        for index in log.indices where happens(1, of: 8) {
            if happens(1, of: 2) { log[index].sequence = number(near: log[index].sequence) }
            if happens(1, of: 2) { log[index].stamp = stamp(near: log[index].stamp) }
            if happens(1, of: 4) { log[index].source = source(victim) }
        }
        if happens(1, of: 3) {
            log.append(
                SessionRecord(
                    source: source(victim), sequence: number(near: 1), stamp: stamp(near: victim.cut),
                    causalTimestamp: date(), content: .event(event)))
        }
        let settledCount =
            happens(1, of: 2) ? choices.below(log.count + 1) : Int(truncatingIfNeeded: number(near: UInt64(log.count)))
        let checkpoint = SessionCheckpoint(
            control: control(victim), membership: membership, base: base, log: log, settledCount: settledCount,
            cut: happens(1, of: 2) ? victim.cut : stamp(near: victim.cut),
            chain: happens(1, of: 2) ? victim.chain : ConfirmationChain(position: number(near: victim.chain.position)))
        return .checkpoint(checkpoint, metadata)
    }

    private mutating func forgedRelay<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>, _ event: Event
    ) -> SessionSyncEnvelope<SessionRelay<Event>> {
        var records: [SessionRecord<Event>] = happens(1, of: 3) ? victim.records : []
        for _ in 0..<choices.below(4) {
            let named = source(victim)
            records.append(
                SessionRecord(
                    source: named, sequence: number(near: victim.held[named] &+ 1), stamp: stamp(near: victim.cut),
                    causalTimestamp: date(), content: .event(event)))
        }
        return SessionSyncEnvelope(metadata: metadata(victim, SessionRelay<Event>.payloadType), payload: .init(records))
    }

    private mutating func forgedSnapshot<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> SessionSyncSnapshot<State> {
        var metadata = metadata(victim, victim.snapshotPayloadType)
        metadata.sequence = number(near: victim.held[liar])
        var vector: [String: UInt64] = [:]
        for _ in 0..<choices.below(4) {
            let named = source(victim)
            vector[happens(3, of: 4) ? named.peerID : named.description] = number(near: victim.held[named])
        }
        if happens(1, of: 16) { for index in 0..<1_100 { vector["many-\(index)"] = 1 } }
        return SessionSyncSnapshot(
            metadata: metadata, revision: number(near: victim.store.snapshotRevision), state: victim.state,
            peerSequenceVector: vector)
    }
}

// MARK: - Contents

extension EngineForger {
    private mutating func metadata<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>, _ payloadType: String
    ) -> SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: happens(15, of: 16) ? 1 : Int(truncatingIfNeeded: number()), sessionID: victim.sessionID,
            featureID: victim.featureID, sourcePeerID: liar.peerID, sequence: 1,
            causalTimestamp: happens(3, of: 4) ? moment : date(), payloadType: payloadType,
            acknowledgedSequence: happens(1, of: 4) ? number() : nil, stamp: stamp(near: victim.cut),
            incarnation: happens(3, of: 4) ? liar.incarnation : incarnation(),
            epoch: happens(3, of: 4) ? victim.epoch : UInt32(truncatingIfNeeded: number()),
            promise: happens(1, of: 2)
                ? nil : SequencePromise(sequence: number(near: victim.held[liar]), stamp: stamp(near: victim.cut)))
    }

    private mutating func control<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> SessionControl {
        let open = victim.membership.open.map(\.source)
        var control = SessionControl(
            group: happens(3, of: 4) ? victim.group : (happens(1, of: 2) ? nil : source(victim)),
            members: happens(3, of: 4) ? open : [], firstSequence: number(near: 1),
            held: SequenceVector(
                (happens(1, of: 2) ? victim.held.entries : []) + claims(victim, count: choices.below(5))),
            isDigest: happens(1, of: 2),
            position: number(near: victim.chain.position), chain: happens(1, of: 2) ? victim.chain.value : number())
        if happens(1, of: 3) {
            control.stateDigest = StateDigest(
                position: number(near: victim.chain.position), chain: happens(1, of: 2) ? victim.chain.value : number(),
                state: number(), version: happens(3, of: 4) ? 1 : number())
        }
        for _ in 0..<choices.below(3) {
            control.asks.append(LivenessToken(source: source(victim), value: UInt32(truncatingIfNeeded: number())))
        }
        if happens(1, of: 3), !isConsistent {
            let (name, origin) = (source(victim), source(victim))
            control.reissues = (0..<choices.below(3)).map { _ in
                SessionReissue(
                    name: SourceSequence(source: name, sequence: number(near: 1)),
                    origin: SourceSequence(source: origin, sequence: number(near: 1)), count: number(near: 1))
            }
        }
        if happens(1, of: 2), !isConsistent { control.echoes = tokens }
        for _ in 0..<choices.below(3) {
            control.wants.append(
                SessionRange(source: source(victim), first: number(near: 1), last: number(near: .max)))
        }
        for _ in 0..<choices.below(3) {
            let replacement = SessionReplacement(
                old: source(victim), new: source(victim), final: number(near: victim.held[victim.source]))
            let sequence = number(near: victim.held[liar] &+ 1)
            control.replacements.append(
                SessionRecord(
                    source: happens(3, of: 4) ? liar : source(victim),
                    sequence: isConsistent ? max(sequence, unused(victim.held[liar])) : sequence,
                    stamp: stamp(near: victim.cut), causalTimestamp: date(), content: .replacement(replacement)))
        }
        if includesViews { addViews(in: &control, to: victim) }
        for _ in 0..<choices.below(3) {
            control.clockEchoes.append(ClockEcho(source: source(victim), sentAt: date(), receivedAt: date()))
        }
        if isConsistent { return consistent(control) }
        if happens(1, of: 4) {
            control.members.append(SessionSource(peerID: victim.localPeerID, incarnation: incarnation()))
        }
        if happens(1, of: 4) { control.members.append(liar) }
        control.forked = claims(victim, count: max(0, choices.below(6) - 3))
        return control
    }

    private func consistent(_ control: SessionControl) -> SessionControl {
        var control = control
        // A first sequence invalidates everything before it, but only at peers that receive it.
        if control.firstSequence > 1, control.firstSequence < 1 << 63 { control.firstSequence = 1 }
        if control.position < 1 << 53 { control.position = 0 }
        return control
    }

    /// Returns a sequence that the liar's next 999 events don't reach.
    private func unused(_ held: UInt64) -> UInt64 { held > .max - 1_000 ? .max : held + 1_000 }

    mutating func claims<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>, count: Int
    ) -> [SourceSequence] {
        (0..<count).compactMap { _ in
            let named = source(victim)
            if isConsistent, named.peerID == victim.localPeerID { return nil }
            return SourceSequence(source: named, sequence: number(near: victim.held[named]))
        }
    }
}

// MARK: - Names and numbers

extension EngineForger {
    /// Limits of integers, of numbers in other languages, and of the engine.
    package static var extremes: [UInt64] {
        [
            0, 1, 2, 1 << 31, 1 << 32 - 1, 1 << 48, 1 << 48 + 1, 1 << 53 - 1, 1 << 53, 1 << 63 - 1, 1 << 63, .max - 1,
            .max,
        ]
    }

    mutating func happens(_ share: Int, of all: Int) -> Bool { choices.below(all) < share }

    mutating func number(near known: UInt64 = 0) -> UInt64 {
        switch choices.below(8) {
        case 0: known
        case 1: known &+ 1
        case 2: known &- 1
        case 3: choices.word() >> UInt64(choices.below(64))
        default: Self.extremes[choices.below(Self.extremes.count)]
        }
    }

    mutating func stamp(near known: HybridTimestamp) -> HybridTimestamp {
        let now = HybridTimestamp(milliseconds: moment.millisecondsSince1970)
        switch choices.below(8) {
        case 0...1: return now
        case 2: return known
        case 3: return .zero
        default: return HybridTimestamp(rawValue: number(near: now.rawValue))
        }
    }

    private mutating func incarnation() -> UInt32 {
        switch choices.below(4) {
        case 0: 0
        case 1: .max
        default: UInt32(truncatingIfNeeded: choices.word())
        }
    }

    private mutating func date() -> Date {
        let seconds = [0, -1e300, 1e300, .nan, .infinity, -.infinity, 9.3e15, 1.8e16]
        let index = choices.below(seconds.count + 4)
        return index < seconds.count ? Date(timeIntervalSince1970: seconds[index]) : moment
    }

    mutating func source<State, Event, Reducer, Policy>(
        _ victim: SessionSyncEngine<State, Event, Reducer, Policy>
    ) -> SessionSource {
        let known = [victim.source, liar] + victim.membership.open.map(\.source) + others
        switch choices.below(8) {
        case 0: return SessionSource(peerID: liar.peerID, incarnation: incarnation())
        case 1: return SessionSource(peerID: "nobody-\(choices.below(256))", incarnation: incarnation())
        case 2 where !isConsistent: return SessionSource(peerID: victim.localPeerID, incarnation: incarnation())
        default: return known[choices.below(known.count)]
        }
    }
}
