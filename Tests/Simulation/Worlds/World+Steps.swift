import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshScenarioTransport
import MeshVirtualTime
import MeshWire

/// The steps of a peer. They do the work of an app's adapter around an engine, without a transport.
extension World {
    typealias Engine = Replica<Feature>.Engine

    func createReplicas() throws {
        var options = Replica<Feature>.Options()
        options.ownUnconfirmedMax = conditions.ownEventsMax
        options.keepsSideEffects = true
        options.samplesReducer = false
        options.catchesUpLater = true
        options.exchangeMilliseconds = 50 * (schedule.membership?.pace ?? 1)
        options.stepMilliseconds = options.exchangeMilliseconds
        options.upcast = { metadata, bytes, _ in NewerEvent(bytes: bytes).map { $0.event(of: Feature.self, metadata) } }
        let sources = (0..<schedule.peerCount).map { newSource($0) }
        let members = sources.indices.filter { schedule.membership?.founders.contains($0) ?? true }.map { sources[$0] }
        replicas = try sources.map { source in
            let isThere = members.contains(source)
            // The app of a peer that joins later knows that there is a group, so its engine founds none.
            options.founds = isThere
            return try Replica(
                source, members: schedule.isPaired && isThere ? members : [], seed: random.next(), options: options,
                stores: schedule.stores)
        }
    }

    private func newSource(_ peer: Int) -> SessionSource {
        sourceCount += 1
        return SessionSource(peerID: Schedule.name(of: peer), incarnation: UInt32(truncatingIfNeeded: random.next()))
    }

    func moment(_ peer: Int) -> Date { Date(timeIntervalSince1970: Double(wallMilliseconds(peer)) / 1_000) }

    // MARK: - Steps

    /// Handles a local event: submits, writes and sends it.
    func tap(_ tap: Tap) throws(Violation) {
        let peer = tap.peer
        guard isAwake(peer), !isLeaving(peer) else { return }
        if replicas[peer].engine.hasEnded { return try checkRefuses(tap) }
        ghost.lastNumber += 1
        let number = ghost.lastNumber
        let moment = moment(peer)
        let event = Feature.event(number: number, choice: tap.choice, moment: moment)
        let replica = replicas[peer]
        let isFull = replica.outline.ownUnconfirmedCount >= conditions.ownEventsMax
        // At its bound, an engine whose caller uses only the reference API folds. Only the setting `late` checks that.
        if isFull, conditions.silentStart > 0, !replica.outline.isSealed { return }
        let envelope: SessionSyncEnvelope<Feature.Event>
        do {
            envelope = try replica.engine.submitLocal(event, at: moment)
        } catch SessionSyncError.logFull {
            if !isFull { throw Violation("\(Schedule.name(of: peer)) rejects an event although it has space") }
            outcome.refused += 1
            return
        } catch let error as SessionSyncError {
            throw Violation("\(Schedule.name(of: peer)) rejects its user's tap: \(error)")
        } catch {
            // The reducer rejected the event, and no sequence was used.
            return try settle(peer)
        }
        if isFull, !mayFold(peer) { throw Violation("\(Schedule.name(of: peer)) accepts an event beyond its bound") }
        try note(applied: replica.engine.takeApplied(), at: peer, isLocal: true)
        if crashes(.crashBeforePersist) { return try relaunch(peer) }
        var directives = replica.engine.takeDirectives()
        replica.updateOutline()
        trace(peer) { "taps \(envelope.metadata.place.text)" }
        let fate = commitFate()
        if fate.isWritten {
            outcome.operations += 1
            ghost.accept(envelope)
        }
        guard try write(directives.persist, fate, at: peer) else { return }
        directives.persist = nil
        if crashes(.crashAfterPersist) { return try relaunch(peer) }
        for other in replicas.indices where other != peer {
            send(envelope, NewerEvent(number: number, choice: tap.choice), from: peer, to: other)
        }
        try follow(directives, at: peer)
        recordState(of: peer)
    }

    /// Runs the periodic exchange.
    func exchange(_ peer: Int) throws(Violation) {
        if isAwake(peer), now >= situations[peer].silentUntil {
            try handleTogether(at: peer)
            try catchUp(peer)
            suspectUnheard(peer)
            compareState(of: peer)
            if !isSilent { replicas[peer].engine.tick(at: moment(peer)) }
            if conditions.stateOnly > 0, random.happens(rate: conditions.stateOnly) { sendStateOnly(peer) }
            try settle(peer)
            if keepsBackups { backups[peer].append((now, replicas[peer].storedMoment)) }
        }
        let interval = (40_000 + random.upTo(20_000)) * (schedule.membership?.pace ?? 1)
        agenda.enter(.exchange(peer: Int32(peer)), at: now + interval)
    }

    private func compareState(of peer: Int) {
        guard let milestone = replicas[peer].engine.milestone(),
            let digest = CompactCodec.canonicalDigest(of: milestone.state)
        else { return }
        replicas[peer].engine.add(
            StateDigest(position: milestone.position, chain: milestone.chain, state: digest, version: 1))
    }

    func handle(_ frame: Frame<Feature>, at peer: Int) throws(Violation) {
        trace(peer, isRecorded: false) { "receives \(frame)" }
        guard deliversInBatches, frame.isEvent else {
            try handleTogether(at: peer)
            return try handleAlone(frame, at: peer)
        }
        together[peer].append(frame)
        if batchRandom.upTo(2) == 0 || together[peer].count == 64 { try handleTogether(at: peer) }
    }

    /// Passes to the engine the events that a transport delivers together.
    private func handleTogether(at peer: Int) throws(Violation) {
        let frames = together[peer]
        guard !frames.isEmpty else { return }
        together[peer] = []
        let replica = replicas[peer]
        // While the engine is behind, it has unreduced events that got their positions under an earlier cut. So the
        // check of the cut is skipped.
        let cut = replica.engine.isBehind ? .zero : replica.outline.cut
        do {
            try replica.engine.gather { engine in
                for frame in frames {
                    do {
                        switch frame {
                        case .event(let envelope): _ = try engine.receive(envelope)
                        case .unread(let metadata, let bytes):
                            _ = try engine.receiveOpaque(metadata, bytes: bytes, codec: 0)
                        default: break
                        }
                    } catch SessionSyncError.unsupportedProtocolVersion {}
                }
            }
        } catch {
            throw Violation("\(Schedule.name(of: peer)) rejects an event: \(error)")
        }
        try follow(cut, at: peer, hasAdopted: false)
    }

    /// Reduces the events that the engine hasn't reduced yet, usually all of them.
    private func catchUp(_ peer: Int) throws(Violation) {
        replicas[peer].engine.catchUp(atMost: batchRandom.upTo(3) == 0 ? Int(batchRandom.upTo(9)) : .max)
        try note(applied: replicas[peer].engine.takeApplied(), at: peer, isLocal: false)
    }

    private func handleAlone(_ frame: Frame<Feature>, at peer: Int) throws(Violation) {
        let replica = replicas[peer]
        let cut = replica.engine.isBehind ? .zero : replica.outline.cut
        var hasAdopted = false
        var content = frame
        if case .lie(let forged) = frame { content = forged }
        if schedule.isOwn, let author = content.author, author != replica.name, index(of: author) != nil {
            replica.engine.setPeer(author, isOwnDevice: true)
        }
        do {
            switch content {
            case .lie: return
            case .event(let envelope): _ = try replica.engine.receive(envelope)
            case .unread(let metadata, let bytes):
                _ = try replica.engine.receiveOpaque(metadata, bytes: bytes, codec: 0)
            case .control(let envelope): try replica.engine.receiveControl(envelope, at: moment(peer))
            case .checkpoint(let checkpoint, let metadata):
                hasAdopted = try replica.engine.adopt(checkpoint, from: metadata, at: moment(peer))
                if hasAdopted {
                    outcome.snapshots += 1
                    replica.startSideEffects()
                    noteReissued(by: peer)
                }
            case .snapshot(let snapshot):
                if case .applied = try replica.engine.applySnapshot(snapshot) { outcome.snapshots += 1 }
            case .relay(let envelope):
                outcome.membership.relays += 1
                try replica.engine.receiveRelay(envelope, at: moment(peer))
            }
        } catch SessionSyncError.unsupportedProtocolVersion {
            return
        } catch SessionSyncError.sessionEnded where replica.engine.hasEnded {
            return
        } catch {
            if case .lie = frame { return }
            throw Violation("\(Schedule.name(of: peer)) rejects a frame: \(error)")
        }
        try follow(cut, at: peer, hasAdopted: hasAdopted)
    }

    /// Records events that a newcomer has reissued when it joined. The engine doesn't report them as applied.
    private func noteReissued(by peer: Int) {
        let engine = replicas[peer].engine
        for record in engine.records where record.source == engine.source {
            guard let id = record.eventID, let first = ghost.accepted[id]?.first else { continue }
            let place = SourceSequence(source: record.source, sequence: record.sequence)
            ghost.noteName(place, of: id)
            trace(peer) { "reissues \(first.text) as \(place.text)" }
        }
    }

    /// Records and checks the events that a call has applied, then runs its directives.
    private func follow(_ cut: HybridTimestamp, at peer: Int, hasAdopted: Bool) throws(Violation) {
        let applied = replicas[peer].engine.takeApplied()
        if !applied.isEmpty {
            if !hasAdopted { try checkAbove(cut, applied, at: peer) }
            try note(applied: applied, at: peer, isLocal: false)
        }
        if crashes(.crashBeforePersist, share: 0.25) { return try relaunch(peer) }
        try settle(peer)
    }

    // MARK: - Directives

    /// Runs the directives of a call in the order that the engine requires: write, run side effects, send.
    func settle(_ peer: Int) throws(Violation) {
        let directives = replicas[peer].engine.takeDirectives()
        replicas[peer].updateOutline()
        try noteView(peer)
        noteFences(directives.alarms, at: peer)
        try follow(directives, at: peer)
    }

    private func follow(
        _ directives: SessionDirectives<Feature.State, Feature.Event>, at peer: Int
    ) throws(Violation) {
        guard try write(directives.persist, commitFate(), at: peer) else { return }
        if let last = directives.confirmed.last {
            try noteConfirmed(directives.confirmed, at: peer)
            replicas[peer].runSideEffects(directives.confirmed.lazy.map(\.position))
            if crashes(.crashBeforeMark) { return try relaunch(peer) }
            replicas[peer].engine.markSideEffects(through: last.position)
            replicas[peer].updateOutline()
        }
        for outgoing in directives.outgoing where !isSilent { try send(outgoing, from: peer) }
        for alarm in directives.alarms { try handle(alarm, at: peer) }
    }

    private func handle(_ alarm: SessionAlarm, at peer: Int) throws(Violation) {
        trace(peer) { "raises \(alarm)" }
        if try handleLiarAlarm(alarm, at: peer) { return }
        if try handleMembershipAlarm(alarm, at: peer) { return }
        switch alarm {
        // A peer forks only if its store was restored. Without that, the alarm is false.
        case .forked where !mayFork: throw Violation("\(Schedule.name(of: peer)) raises \(alarm)")
        case .forked(let place) where place.source == replicas[peer].outline.source:
            try takeAnotherName(peer)
        case .forked: break
        case .foldedUnconfirmed where mayFold(peer): break
        // A peer whose store was restored has made false statements, so these alarms are expected.
        case .promiseBroken where mayFork, .diverged where mayFork, .stateDiverged where mayFork: break
        default: throw Violation("\(Schedule.name(of: peer)) raises \(alarm)")
        }
    }

    func takeAnotherName(_ peer: Int) throws(Violation) {
        // The store already has the mark of the fork. The relaunched engine must raise the alarm again.
        if crashes(.crashAfterPersist) { return try relaunch(peer) }
        try reincarnate(peer)
    }

    func reincarnate(_ peer: Int) throws(Violation) {
        if membership == nil { outcome.forks += 1 }
        outcome.reincarnations += 1
        sourceCount += 1
        let (incarnation, seed) = (UInt32(truncatingIfNeeded: random.next()), random.next())
        let (source, line) = (replicas[peer].outline.source, line(of: peer))
        try restoring(peer) { try $0.reincarnate(incarnation: incarnation, seed: seed) }
        ghost.rename(source, to: replicas[peer].outline.source, in: line)
    }

    /// True while peers make only the reference API's calls.
    private var isSilent: Bool { now < UInt64(conditions.silence) * 1_000 }

    /// True if an engine may fold unconfirmed events at its bound: it has no group, and its caller may never found one.
    private func mayFold(_ peer: Int) -> Bool { schedule.setting == .late && !replicas[peer].outline.isSealed }

    // MARK: - Sending

    private func isClaimedUnreachable(_ peer: Int) -> Bool { situations[peer].claim == false }

    private func send(
        _ envelope: SessionSyncEnvelope<Feature.Event>, _ newer: NewerEvent, from peer: Int, to other: Int
    ) {
        guard !isClaimedUnreachable(peer) else { return }
        let isUnread = isNewer(peer) && !isNewer(other) && newer.number % 4 == 0
        transmit(isUnread ? .unread(envelope.metadata, bytes: newer.bytes) : .event(envelope), from: peer, to: other)
    }

    private func isNewer(_ peer: Int) -> Bool { conditions.newer.contains(peer) }

    private func send(
        _ outgoing: SessionOutgoing<Feature.State, Feature.Event>, from peer: Int
    ) throws(Violation) {
        try checkOutgoing(outgoing, of: peer)
        switch outgoing {
        case .control(var envelope, let receiver):
            try noteFrozen(envelope, of: peer)
            if isNewer(peer), random.happens(rate: 0.1) {
                envelope.metadata.protocolVersion = SessionSyncProtocol.currentVersion + 1
            }
            let frame = Frame<Feature>.control(envelope)
            for other in replicas.indices where other != peer && (receiver ?? name(other)) == name(other) {
                transmit(frame, from: peer, to: other)
            }
        case .events(let envelopes, let receiver):
            guard let other = index(of: receiver) else { return }
            for envelope in envelopes { transmit(.event(envelope), from: peer, to: other) }
        case .checkpoint(let checkpoint, let metadata, let receiver):
            guard let other = index(of: receiver) else { return }
            transmit(.checkpoint(checkpoint, metadata), from: peer, to: other)
        case .relay(let envelope, let receiver):
            guard let other = index(of: receiver) else { return }
            transmit(.relay(envelope), from: peer, to: other)
        }
    }

    /// Sends a snapshot as a manually written adapter does. It contains only the state and its vector.
    private func sendStateOnly(_ peer: Int) {
        outcome.faults[.stateOnlySnapshot] += 1
        let revision = replicas[peer].engine.allocateOutgoingSnapshotRevision()
        let engine = replicas[peer].engine
        let metadata = SessionSyncMetadata(
            sessionID: engine.sessionID, featureID: engine.featureID, sourcePeerID: engine.localPeerID,
            sequence: engine.store.nextLocalSequence, causalTimestamp: moment(peer),
            payloadType: engine.snapshotPayloadType)
        let snapshot = SessionSyncSnapshot(
            metadata: metadata, revision: revision, state: engine.state,
            peerSequenceVector: engine.store.lastSequenceByPeerID)
        for other in replicas.indices where other != peer { transmit(.snapshot(snapshot), from: peer, to: other) }
    }

    func name(_ peer: Int) -> String { replicas[peer].name }

    func index(of name: String) -> Int? { replicas.indices.first { self.name($0) == name } }

    // MARK: - Stores

    private func crashes(_ kind: FaultKind, share: Double = 1) -> Bool {
        guard conditions.crash > 0, random.happens(rate: conditions.crash * share) else { return false }
        outcome.faults[kind] += 1
        return true
    }

    /// Writes changes to the peer's store.
    /// - Returns: False if the commit failed. The peer was then relaunched, and the rest of its step is lost.
    private func write(
        _ changes: SessionPersistence?, _ fate: SimulatedDisk.Fate, at peer: Int
    ) throws(Violation) -> Bool {
        guard let changes else { return true }
        var isDone = false
        try restoring(peer) { isDone = try $0.persist(changes, fate) }
        if isDone { return true }
        trace(peer) { "has a commit that \(fate)" }
        outcome.faults[fate == .isRefused ? .refusedCommit : .tornCommit] += 1
        try relaunch(peer)
        return false
    }

    private func commitFate() -> SimulatedDisk.Fate {
        if random.happens(ifAtAll: conditions.refusedCommit) { return .isRefused }
        if random.happens(ifAtAll: conditions.tornCommit) {
            return .isCutShort(isWritten: random.happens(rate: 0.5))
        }
        return .succeeds
    }

    func relaunch(_ peer: Int) throws(Violation) {
        if conditions.forgetful.contains(peer), random.happens(ifAtAll: conditions.lostSync),
            let earlier = replicas[peer].moment(before: 1 + random.below(6))
        {
            outcome.faults[.lostSync] += 1
            trace(peer) { "loses its latest commits" }
            // The restart takes a while, so the peer handles no frame for 20 ms.
            situations[peer].pausedUntil = max(situations[peer].pausedUntil, now + 20_000)
            return try goBack(peer, to: earlier)
        }
        trace(peer) { "is launched again" }
        together[peer] = []
        let seed = random.next()
        try restoring(peer) { try $0.relaunch(seed: seed) }
        forgetSilence(of: peer)
        try runDueSideEffects(peer)
    }

    private func restoring(_ peer: Int, _ change: (Replica<Feature>) throws -> Void) throws(Violation) {
        do {
            try change(replicas[peer])
        } catch {
            throw Violation("\(Schedule.name(of: peer)) cannot read its own store: \(error)")
        }
    }

    /// Runs side effects of events whose confirmation was written before a crash. The run may not have checked these
    /// events yet.
    private func runDueSideEffects(_ peer: Int) throws(Violation) {
        let due = replicas[peer].engine.sideEffectsDue
        guard let last = due.last else { return }
        try noteConfirmed(due, at: peer)
        replicas[peer].runSideEffects(due.lazy.map(\.position))
        replicas[peer].engine.markSideEffects(through: last.position)
        replicas[peer].updateOutline()
    }

    func loseStore(_ peer: Int) throws(Violation) {
        forgiveStore(of: peer)
        situations[peer].silentUntil = now + UInt64(conditions.silentStart) * 1_000
        let (incarnation, seed) = (UInt32(truncatingIfNeeded: random.next()), random.next())
        try restoring(peer) { try $0.loseStore(incarnation: incarnation, seed: seed) }
        outcome.reincarnations += 1
        sourceCount += 1
    }

    /// Restores a peer's store as it was at the last exchange at least `age` milliseconds ago. If there was none, uses
    /// the first exchange.
    func restoreStore(_ peer: Int, age: Int) throws(Violation) {
        let time = now - min(now, UInt64(age) * 1_000)
        guard let backup = backups[peer].last(where: { $0.time <= time }) ?? backups[peer].first else { return }
        trace(peer) { "continues with its store of \(backup.time / 1_000) ms" }
        try goBack(peer, to: backup.store)
    }

    private func goBack(_ peer: Int, to earlier: StoredMoment<Feature>) throws(Violation) {
        ghost.forgive(eventsNotIn: otherStores(than: peer) + [earlier.engine])
        ghost.expectForks()
        if let line = line(of: peer) {
            let others = replicas.indices.filter { $0 != peer && self.line(of: $0) == line }
            let counts = others.map { replicas[$0].engine.confirmedCount } + [earlier.engine.confirmedCount]
            ghost.forgetConfirmed(beyond: counts.max() ?? 0, in: line)
        }
        let seed = random.next()
        try restoring(peer) { try $0.restore(earlier, seed: seed) }
        try runDueSideEffects(peer)
    }

    func otherStores(than peer: Int) -> [Engine] {
        replicas.indices.filter { $0 != peer }.map { replicas[$0].stored }
    }
}

/// The content of an event of a newer app version. Peers with an older version receive it as bytes.
struct NewerEvent {
    let number: UInt32
    let choice: UInt64

    init(number: UInt32, choice: UInt64) {
        self.number = number
        self.choice = choice
    }

    init?(bytes: [UInt8]) {
        guard bytes.count == 12 else { return nil }
        number = bytes[..<4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        choice = bytes[4...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            + (0..<8).map { UInt8(truncatingIfNeeded: choice >> (8 * $0)) }
    }

    func event<Feature: SimulatedFeature>(of feature: Feature.Type, _ metadata: SessionSyncMetadata) -> Feature.Event {
        Feature.event(number: number, choice: choice, moment: metadata.causalTimestamp)
    }
}
