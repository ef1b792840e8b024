import MeshEngine
import MeshIdentity

// Invariants checked after each step, for the peers that the step touched.
extension World {
    /// Records events that a step applied at a peer.
    func note(
        applied: [SessionAppliedEvent<Feature.Event>], at peer: Int, isLocal: Bool
    ) throws(Violation) {
        for event in applied {
            trace(peer, isRecorded: false) { "places \(event.envelope.metadata.place.text) (\(event.outcome))" }
            let metadata = event.envelope.metadata
            record(event, at: peer)
            if event.replayedCount > 0 {
                outcome.rollbacks += 1
                outcome.deepestRollback = max(outcome.deepestRollback, event.replayedCount)
            }
            if isLocal, isExact, metadata.stamp <= replicas[peer].latestStamp {
                throw Violation("\(metadata.place.text) isn't stamped later than the events its author had seen")
            }
            replicas[peer].note(metadata.stamp)
            ghost.noteName(metadata)
        }
        replicas[peer].updateOutline()
        try checkBounds(peer)
        try checkAgainstOthers(peer)
    }

    /// Checks that no event was inserted at or below the cut.
    func checkAbove(
        _ cut: HybridTimestamp, _ applied: [SessionAppliedEvent<Feature.Event>], at peer: Int
    ) throws(Violation) {
        for event in applied where event.envelope.metadata.stamp <= cut {
            throw Violation("\(Schedule.name(of: peer)) inserts \(event.envelope.metadata.place.text) below its cut")
        }
    }

    private func checkBounds(_ peer: Int) throws(Violation) {
        guard isBelieved(peer) else { return }
        let outline = replicas[peer].outline
        // Replacements, and events reissued after a join, don't count toward the bound of own events.
        guard outline.ownUnconfirmedCount <= 3 * conditions.ownEventsMax + 8 else {
            throw Violation("\(replicas[peer].name) has \(outline.ownUnconfirmedCount) own events unconfirmed")
        }
        guard !outline.isSealed || outline.chainPosition == outline.confirmedCount else {
            throw Violation(
                "\(replicas[peer].name) has confirmed \(outline.confirmedCount) and counts \(outline.chainPosition)")
        }
        guard outline.gapCount <= replicas[peer].options.gapMax * outline.sourceCount else {
            throw Violation("\(replicas[peer].name) has \(outline.gapCount) events waiting")
        }
    }

    /// Checks that peers with the same events have the same state.
    private func checkAgainstOthers(_ peer: Int) throws(Violation) {
        let replica = replicas[peer]
        guard isBelieved(peer), !replica.outline.isProvisional, !replica.isImpostor else { return }
        for index in replicas.indices where index != peer && isBelieved(index) {
            let other = replicas[index]
            guard other.outline.heldDigest == replica.outline.heldDigest, other.outline.group == replica.outline.group,
                !other.isImpostor, !other.outline.isProvisional, !replica.engine.isBehind, !other.engine.isBehind,
                isInOneView(peer, index),
                // After a fork both peers may hold two events under one name, until one adopts the other's copy.
                replica.outline.group != nil || ![replica.origin, other.origin].contains(.reincarnated),
                other.engine.state != replica.engine.state,
                other.engine.held == replica.engine.held,
                other.engine.membership.first == replica.engine.membership.first
            else { continue }
            throw Violation("\(replica.name) and \(other.name) hold the same events but have different states")
        }
    }

    /// Checks confirmed events: each must be at the same position for all members, and in every member's store.
    func noteConfirmed(_ events: [SessionConfirmedEvent<Feature.Event>], at peer: Int) throws(Violation) {
        let replica = replicas[peer]
        for event in events {
            trace(peer) { "confirms \(event.envelope.metadata.place.text) at \(event.position)" }
        }
        guard isBelieved(peer), !replica.isImpostor else { return }
        guard let line = line(of: peer) else { throw Violation("\(replica.name) confirms without a group") }
        let former = ghost.views.parent(of: line) ?? ghost.formerLines[line.group]
        for event in events { try ghost.confirm(event, in: line, after: former, by: replica.name) }
        try checkConfirmedInView(events, at: peer)
        for other in trustedMembers(of: replica) {
            for event in events {
                let place = event.envelope.metadata.place
                guard other.heldInStore(of: place.source) < place.sequence else { continue }
                throw Violation(
                    "\(replica.name) confirms \(place.text), which \(other.storedOutline.source) has not stored")
            }
        }
    }

    /// Returns the other members of a replica's group. Leaves out the liar, and peers whose restored stores still use
    /// their old source.
    fileprivate func trustedMembers(of replica: Replica<Feature>) -> [Replica<Feature>] {
        let members = replica.engine.membership.open
        return replicas.filter { other in
            other !== replica && other !== liar && !other.isImpostor
                && other.storedOutline.group == replica.outline.group
                && members.contains { $0.source == other.storedOutline.source }
        }
    }
}

// Invariants checked every 64 steps and at the end.
extension World {
    func checkEverything() throws(Violation) {
        for peer in replicas.indices {
            try checkBounds(peer)
            try checkAgainstOthers(peer)
            try checkOutbox(peer)
            for other in 0..<peer { try checkChains(peer, other) }
        }
    }

    /// Checks that two peers that have confirmed equally many events of one group have confirmed the same events.
    private func checkChains(_ peer: Int, _ other: Int) throws(Violation) {
        let (one, two) = (replicas[peer], replicas[other])
        guard isBelieved(peer), isBelieved(other), !one.isImpostor, !two.isImpostor, one.outline.group != nil,
            line(of: peer) == line(of: other),
            one.outline.confirmedCount == two.outline.confirmedCount, one.outline.chain != two.outline.chain
        else { return }
        throw Violation("the chains of \(one.name) and \(two.name) differ")
    }

    /// Checks that every open member's store has the events that this peer has folded, because this peer can't send a
    /// folded event again. All its other own events must still be in its log.
    private func checkOutbox(_ peer: Int) throws(Violation) {
        let replica = replicas[peer]
        guard isBelieved(peer), replica.outline.group != nil, !replica.isImpostor else { return }
        let folded = replica.engine.folded
        for other in trustedMembers(of: replica) {
            for place in folded.entries where place.sequence > other.heldInStore(of: place.source) {
                throw Violation(
                    "\(replica.name) has folded \(place.text), which \(other.storedOutline.source) has not stored")
            }
        }
        let source = replica.outline.source
        let freed = max(folded[source], replica.engine.firstSequence(of: source) - 1)
        guard replica.engine.ownLogCount(beyond: freed) == replica.engine.held[source] - freed else {
            throw Violation("\(replica.name) has lost own events before they were acknowledged")
        }
    }

    /// Checks that all peers of the core agree on everything.
    func checkEnd() throws(Violation) {
        for replica in replicas { replica.engine.catchUp() }
        try checkAfterLies()
        if isAlone || isGroupLost { return }
        let core = core
        if membership != nil { expectLosses(core) }
        guard let line = membership == nil ? line(of: core[0]) : newestView?.line else {
            throw Violation("no peer has founded a group")
        }
        for peer in core { try checkJoined(peer, line.group) }
        try checkOneView(core)
        try checkEnded(core)
        if hasNoAbsentMember(core) {
            try checkAllConfirmed(core, line)
        } else {
            try checkCoreHolds(core)
        }
        try checkEverything()
    }

    /// Checks that a peer that knows of the session's end rejects taps.
    func checkRefuses(_ tap: Tap) throws(Violation) {
        let event = Feature.event(number: 0, choice: tap.choice, moment: moment(tap.peer))
        do {
            _ = try replicas[tap.peer].engine.submitLocal(event, at: moment(tap.peer))
        } catch SessionSyncError.sessionEnded {
            return
        } catch {}
        throw Violation("\(Schedule.name(of: tap.peer)) accepts an event after the end")
    }

    /// Checks that all peers know of the session's end if one does. If no member is absent, each of them must also know
    /// that all others know.
    private func checkEnded(_ core: [Int]) throws(Violation) {
        guard core.contains(where: { replicas[$0].engine.hasEnded }) else { return }
        for peer in core where !replicas[peer].engine.hasEnded {
            throw Violation("\(Schedule.name(of: peer)) doesn't know that the session has ended")
        }
        guard hasNoAbsentMember(core) else { return }
        for peer in core where !replicas[peer].engine.isOver {
            throw Violation("\(Schedule.name(of: peer)) doesn't know that every peer knows of the end")
        }
    }

    private func checkJoined(_ peer: Int, _ group: SessionSource) throws(Violation) {
        let engine = replicas[peer].engine
        let name = Schedule.name(of: peer)
        guard engine.group == group, engine.isSealed else { throw Violation("\(name) hasn't joined \(group)") }
        guard !engine.isProvisional else { throw Violation("\(name) still shows a provisional snapshot") }
    }

    private func checkAllConfirmed(_ core: [Int], _ line: GroupLine) throws(Violation) {
        ghost.begin(line, after: ghost.views.parent(of: line), at: replicas[core[0]].engine.confirmedCount)
        let tally = try ghost.checkExactlyOnce(line)
        outcome.lostWithStores = tally.lostWithStores
        outcome.lostByForks = tally.lostByForks.count
        outcome.doubledByForks = tally.doubledByForks.count
        for place in tally.lostByForks { options.trace?("lost by a restored store: \(place.text)") }
        for place in tally.doubledByForks { options.trace?("doubled by a restored store: \(place.text)") }
        let stream = ghost.streams[line] ?? []
        outcome.confirmed = stream.count
        // After a fork another order may have become final, so all peers are compared with the first one.
        let count = ghost.mayFork ? replicas[core[0]].engine.confirmedCount : UInt64(stream.count)
        let expected = ghost.mayFork ? replicas[core[0]].engine.state : ghost.expectedState(line)
        for peer in core {
            let engine = replicas[peer].engine
            let name = Schedule.name(of: peer)
            guard engine.ownUnconfirmedCount == 0, engine.confirmedCount >= count else {
                throw Violation("\(name) has confirmed \(engine.confirmedCount) of \(count)")
            }
            guard engine.state == expected else { throw Violation("\(name)'s state differs from the final order's") }
            guard engine.missing.isEmpty else { throw Violation("\(name) keeps asking for \(engine.missing)") }
            guard engine.chain.value == replicas[core[0]].engine.chain.value else {
                throw Violation("\(name)'s chain differs")
            }
            let isMissing = stream.indices.contains {
                stream[$0] != nil && replicas[peer].sideEffects.misses(UInt64($0))
            }
            guard engine.sideEffectsDue.isEmpty, ghost.mayFork || !isMissing else {
                throw Violation("\(name) has not run all side effects")
            }
        }
    }

    /// The peers that are present and not cut off in the end.
    var core: [Int] { replicas.indices.filter { !conditions.abandoned.contains($0) && !isOut($0) } }

    /// Checks that the peers of the core hold each other's events. They can't confirm them without the absent members.
    private func checkCoreHolds(_ core: [Int]) throws(Violation) {
        for author in core {
            let source = replicas[author].engine.source
            let sequence = replicas[author].engine.held[source]
            for peer in core where replicas[peer].engine.held[source] != sequence {
                throw Violation("\(Schedule.name(of: peer)) lacks events of \(source)")
            }
        }
    }
}
