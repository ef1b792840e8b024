import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshTesting

/// A peer that is connected to all others, proves its identity, and lies. The checks depend on its role:
///
/// - An unknown peer must have no effect: every invariant that holds without it holds with it.
/// - One of three or more members may keep the others from confirming. They must still have each other's events, and
///   confirm the same ones.
/// - The only other member may make the honest peer show anything. The honest peer must not trap. It must accept its
///   user's taps and write events that other peers accept.
extension World {
    /// The index of the liar's own engine, if it is a member.
    private var liarIndex: Int? {
        switch schedule.liar {
        case .member(let peer), .partner(let peer): peer
        case .stranger, nil: nil
        }
    }

    var liar: Replica<Feature>? { liarIndex.map { replicas[$0] } }

    func isHonest(_ peer: Int) -> Bool { peer != liarIndex }

    /// True if the liar is the only other member, so no honest peer is left to agree with.
    var isAlone: Bool { if case .partner = schedule.liar { true } else { false } }

    /// True if the peer's state and events can be compared with others'.
    func isBelieved(_ peer: Int) -> Bool { isHonest(peer) && !isAlone }

    /// True if each local event must be stamped later than everything that its author has seen. False with a lying
    /// member: its stamps may be far ahead of all wall clocks, and a clock follows such stamps only in small steps.
    var isExact: Bool { schedule.liar == nil || schedule.liar == .stranger }

    private var liarName: String { liar?.name ?? "mallory" }

    func send(_ lie: PlannedLie) throws(Violation) {
        if schedule.setting == .hub { return try sendFalseRecord(lie) }
        var random = SplitMix64(seed: lie.choice)
        let peer = random.element(replicas.indices.filter(isHonest))
        guard isAwake(peer) else { return }
        // Not to a peer without a group: the unknown peer could found one with it, and would then be a member.
        if schedule.liar == .stranger, !replicas[peer].outline.isSealed { return }
        let source = liar?.engine.source ?? SessionSource(peerID: liarName, incarnation: 7)
        if random.below(16) == 0 { return try flood(peer, source, &random) }
        outcome.faults[.lie] += 1
        var forger = EngineForger(SeededChoices(random: random), liar: source, moment: moment(peer))
        forger.others = replicas.map { $0.outline.source }
        forger.tokens = tokensForLiar
        if case .member = schedule.liar { forger.isConsistent = true }
        let event = Feature.event(number: .max, choice: lie.choice, moment: moment(peer))
        let frame: Frame<Feature> =
            switch forger.forgedMessage(to: replicas[peer].engine, event: event) {
            case .event(let envelope): .event(envelope)
            case .control(let envelope): .control(envelope)
            case .checkpoint(let checkpoint, let metadata): .checkpoint(checkpoint, metadata)
            case .snapshot(let snapshot): .snapshot(snapshot)
            case .relay(let envelope): .relay(envelope)
            }
        try handle(.lie(frame), at: peer)
    }

    /// The honest members that the first peer hears. Without one, the first peer follows the liar (rule 24 of
    /// Docs/Internals/Convergence.md).
    private var heardHonestMembers: [Int] {
        guard let membership else { return [] }
        let patience = min(UInt64(membership.plan.lease ?? .max), 2_000) * 1_000
        let members = Set(replicas[0].engine.membership.open.map(\.source.peerID))
        return replicas.indices.dropFirst().filter { peer in
            isHonest(peer) && members.contains(name(peer)) && now - min(now, membership.reported[0][peer]) < patience
        }
    }

    /// Delivers to the first peer a control of the liar with a false record of the view's members.
    private func sendFalseRecord(_ lie: PlannedLie) throws(Violation) {
        let named = heardHonestMembers.first
        guard isAwake(0), var engine = liar?.engine, engine.isSealed, replicas[0].outline.isSealed, let named
        else { return }
        engine.tick(at: moment(0))
        for case .control(var envelope, nil) in engine.takeDirectives().outgoing {
            outcome.faults[.lie] += 1
            let view = replicas[0].engine.view
            var record = SessionViewRecord(
                number: view + 1 + lie.choice % 2, membership: replicas[0].engine.membership)
            let source = replicas[named].engine.source
            switch lie.choice >> 24 % 5 {
            // A member that is both open and closed.
            case 0: record.membership.closed.append(SourceSequence(source: source, sequence: 1))
            // A member whose events are void up to a high sequence.
            case 1:
                record.number = view
                let end = lie.choice >> 40 % 2 == 0 ? SequenceBounds.hearsay : SequenceBounds.highest
                record.membership.first.append(SourceSequence(source: source, sequence: end))
            // Nonexistent members, sometimes more than a session can have.
            case 2: addUnreal(SessionMembership.openMax, to: &record, lie, stamp: envelope.metadata.stamp)
            default: addUnreal(1 + Int(lie.choice >> 8 % 4), to: &record, lie, stamp: envelope.metadata.stamp)
            }
            envelope.payload.members = record.membership.open.map(\.source)
            envelope.payload.view = ViewStatement(number: record.number)
            envelope.payload.record = record
            try handle(.lie(.control(envelope)), at: 0)
        }
    }

    private func addUnreal(
        _ count: Int, to record: inout SessionViewRecord, _ lie: PlannedLie, stamp: HybridTimestamp
    ) {
        for index in 0..<count {
            let unreal = SessionSource(peerID: "unreal \(index)", incarnation: UInt32(lie.choice >> 16 % 3))
            record.membership.open.append(.init(source: unreal, floor: stamp, joined: record.number))
        }
    }

    /// Delivers 1,100 controls, each from another incarnation of the liar. A table of sources has less space.
    private func flood(_ peer: Int, _ source: SessionSource, _ random: inout SplitMix64) throws(Violation) {
        outcome.faults[.flood] += 1
        let engine = replicas[peer].engine
        var metadata = SessionSyncMetadata(
            sessionID: engine.sessionID, featureID: engine.featureID, sourcePeerID: source.peerID,
            eventID: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), sequence: 0,
            causalTimestamp: moment(peer), payloadType: SessionControl.payloadType)
        for _ in 0..<1_100 {
            metadata.incarnation = UInt32(truncatingIfNeeded: random.next())
            let control = SessionSyncEnvelope(metadata: metadata, payload: SessionControl(isDigest: true))
            try? replicas[peer].engine.receiveControl(control, at: moment(peer))
        }
        try settle(peer)
    }

    // MARK: - Messages of honest peers

    /// Checks a message that an honest peer sends. An unknown peer must get no session content, and the liar must not
    /// make controls grow.
    func checkOutgoing(
        _ outgoing: SessionOutgoing<Feature.State, Feature.Event>, of peer: Int
    ) throws(Violation) {
        guard schedule.liar != nil, isHonest(peer) else { return }
        switch outgoing {
        case .control(let envelope, _):
            tokensForLiar = envelope.payload.asks.filter { $0.source.peerID == liarName }
            let size = envelope.payload.entryCount
            guard size <= 8 * (sourceCount + 8) else {
                throw Violation("\(Schedule.name(of: peer)) sends a control of \(size) entries")
            }
        case .events(_, let receiver) where isStranger(receiver):
            throw Violation("\(Schedule.name(of: peer)) sends events to a stranger")
        case .checkpoint(_, _, let receiver) where isStranger(receiver):
            throw Violation("\(Schedule.name(of: peer)) sends the session to a stranger")
        case .relay(_, let receiver) where isStranger(receiver):
            throw Violation("\(Schedule.name(of: peer)) relays events to a stranger")
        case .events, .checkpoint, .relay: break
        }
    }

    private func isStranger(_ name: String) -> Bool { schedule.liar == .stranger && name == liarName }

    /// - Returns: True if the alarm was expected and is handled.
    func handleLiarAlarm(_ alarm: SessionAlarm, at peer: Int) throws(Violation) -> Bool {
        guard schedule.liar != nil else { return false }
        guard isHonest(peer) else {
            // The other peer reports events in the liar's name that the liar's own engine never wrote.
            if isAlone, case .forked(let place) = alarm, place.source == replicas[peer].outline.source {
                try reincarnate(peer)
            }
            return true
        }
        switch alarm {
        case .forked(let place) where place.source == replicas[peer].outline.source:
            guard isAlone else { return false }
            try reincarnate(peer)
            return true
        case .forked(let place), .promiseBroken(let place), .unusableStamp(let place),
            .nondeterministicReducer(let place):
            return isAlone || place.source.peerID == liarName
        case .notAdmitted(let source): return isAlone || source.peerID == liarName
        case .outOfRange(let peerID, _): return isAlone || peerID == liarName
        // An honest peer that follows the liar's stamps is ahead of the others.
        case .clockFarAhead: return schedule.liar != .stranger
        case .diverged, .foldedUnconfirmed: return isAlone
        // The liar may claim that it has continued without this peer, or that it knows no views.
        case .fenced: return isAlone
        case .cannotChangeView, .stateDiverged: return schedule.liar != .stranger
        case .codingLoss: return false
        }
    }

    // MARK: - Checks at the end

    func checkAfterLies() throws(Violation) {
        guard schedule.liar != nil else { return }
        for peer in replicas.indices where isHonest(peer) {
            let count = replicas[peer].outline.sourceCount
            if schedule.liar == .stranger, count > sourceCount + 8 {
                throw Violation("\(Schedule.name(of: peer)) keeps \(count) sources of \(sourceCount)")
            }
            try checkUnderstood(peer)
        }
    }

    /// Checks that this peer accepts one more tap of its user, and that an engine that has received no lies accepts the
    /// tap's event.
    private func checkUnderstood(_ peer: Int) throws(Violation) {
        let replica = replicas[peer]
        guard !replica.engine.hasEnded else { return }
        var engine = replica.engine
        let name = Schedule.name(of: peer)
        let event = Feature.event(number: .max, choice: 3, moment: moment(peer))
        let envelope: SessionSyncEnvelope<Feature.Event>
        do {
            envelope = try engine.submitLocal(event, at: moment(peer))
        } catch let error as SessionSyncError {
            throw Violation("\(name) rejects its user's tap: \(error)")
        } catch {
            return
        }
        var other = Engine(
            sessionID: engine.sessionID, featureID: engine.featureID, localPeerID: "newcomer",
            payloadType: engine.payloadType, snapshotPayloadType: engine.snapshotPayloadType,
            initialState: Feature.initialState, reducer: Feature.reducer, conflictPolicy: Feature.policy,
            incarnation: 1, options: replica.options)
        do {
            _ = try other.receive(envelope)
        } catch {
            throw Violation("\(name) writes events that no peer accepts: \(error)")
        }
        for case .unusableStamp in other.takeDirectives().alarms {
            throw Violation("\(name) writes stamps that no peer accepts")
        }
    }
}

private struct SeededChoices: ForgeryChoices {
    var random: SplitMix64

    mutating func below(_ limit: Int) -> Int { random.below(limit) }
    mutating func word() -> UInt64 { random.next() }
}
