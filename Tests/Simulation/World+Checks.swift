import MeshEngine
import MeshIdentity

// After each step, for what the step touched.
extension World {
    /// A step has put events in their places at a peer.
    func note(
        applied: [SessionAppliedEvent<Feature.Event>], at peer: Int, isLocal: Bool
    ) throws(Violation) {
        for event in applied {
            trace(peer) { "places \(event.envelope.metadata.place.text) (\(event.outcome))" }
            let metadata = event.envelope.metadata
            if event.replayedCount > 0 {
                outcome.rollbacks += 1
                outcome.deepestRollback = max(outcome.deepestRollback, event.replayedCount)
            }
            if isLocal, metadata.stamp <= replicas[peer].latestStamp {
                throw Violation("\(metadata.place.text) is not stamped later than what its author had seen")
            }
            replicas[peer].note(metadata.stamp)
            ghost.noteName(metadata)
        }
        try checkBounds(peer)
        try checkAgainstOthers(peer)
    }

    /// Nothing is inserted at or below the cut.
    func checkAbove(
        _ cut: HybridTimestamp, _ applied: [SessionAppliedEvent<Feature.Event>], at peer: Int
    ) throws(Violation) {
        for event in applied where event.envelope.metadata.stamp <= cut {
            throw Violation("\(Schedule.name(of: peer)) inserts \(event.envelope.metadata.place.text) below its cut")
        }
    }

    private func checkBounds(_ peer: Int) throws(Violation) {
        // What was issued again after a join comes on top, and replacements.
        let own = replicas[peer].engine.ownUnconfirmedCount
        guard own <= 3 * conditions.ownEventsMax + 8 else {
            throw Violation("\(Schedule.name(of: peer)) has \(own) own events unconfirmed")
        }
        let waiting = replicas[peer].engine.gapCount
        guard waiting <= replicas[peer].options.gapMax * (replicas[peer].engine.held.entries.count + 1) else {
            throw Violation("\(Schedule.name(of: peer)) has \(waiting) events waiting")
        }
    }

    /// Peers that hold the same events have made the same of them.
    private func checkAgainstOthers(_ peer: Int) throws(Violation) {
        guard !replicas[peer].engine.isProvisional, !replicas[peer].isImpostor else { return }
        let held = replicas[peer].engine.held
        for other in replicas.indices where other != peer && !replicas[other].isImpostor {
            guard replicas[other].engine.held == held, replicas[other].engine.group == replicas[peer].engine.group,
                !replicas[other].engine.isProvisional,
                replicas[other].engine.membership.first == replicas[peer].engine.membership.first
            else { continue }
            guard replicas[peer].engine.state == replicas[other].engine.state else {
                throw Violation(
                    "\(Schedule.name(of: peer)) and \(Schedule.name(of: other)) hold the same events and differ")
            }
        }
    }

    /// A member has said that an event is final: then it is where everybody else says, and in every member's store.
    func noteConfirmed(_ confirmed: SessionConfirmedEvent<Feature.Event>, at peer: Int) throws(Violation) {
        trace(peer) { "confirms \(confirmed.envelope.metadata.place.text) at \(confirmed.position)" }
        guard !replicas[peer].isImpostor else { return }
        let name = Schedule.name(of: peer)
        guard let group = replicas[peer].engine.group else { throw Violation("\(name) confirms without a group") }
        try ghost.confirm(confirmed, in: group, by: name)
        let place = confirmed.envelope.metadata.place
        for member in replicas[peer].engine.membership.open where member.source != replicas[peer].engine.source {
            guard let other = trusted(member.source), replicas[other].stored.group == group else { continue }
            if replicas[other].stored.held[place.source] < place.sequence {
                throw Violation("\(name) confirms \(place.text), which \(member.source) has not stored")
            }
        }
    }

    /// The peer whose store writes as that source, and truly is it.
    fileprivate func trusted(_ source: SessionSource) -> Int? {
        replicas.indices.first { replicas[$0].stored.source == source && !replicas[$0].isImpostor }
    }
}

// Every 64 steps, and at the end.
extension World {
    func checkEverything() throws(Violation) {
        for peer in replicas.indices {
            try checkBounds(peer)
            try checkAgainstOthers(peer)
            try checkFoldedIsAcknowledged(peer)
            for other in 0..<peer { try checkChains(peer, other) }
        }
    }

    /// Peers that have confirmed equally many events of one group have confirmed the same ones.
    private func checkChains(_ peer: Int, _ other: Int) throws(Violation) {
        guard !replicas[peer].isImpostor, !replicas[other].isImpostor, replicas[peer].engine.group != nil,
            replicas[peer].engine.group == replicas[other].engine.group,
            replicas[peer].engine.confirmedCount == replicas[other].engine.confirmedCount,
            replicas[peer].engine.chain.value != replicas[other].engine.chain.value
        else { return }
        throw Violation("the chains of \(Schedule.name(of: peer)) and \(Schedule.name(of: other)) differ")
    }

    /// What is folded can no longer be sent: every open member must have it in its store.
    private func checkFoldedIsAcknowledged(_ peer: Int) throws(Violation) {
        guard let group = replicas[peer].engine.group, !replicas[peer].isImpostor else { return }
        let folded = replicas[peer].engine.folded.entries
        for member in replicas[peer].engine.membership.open where member.source != replicas[peer].engine.source {
            guard let other = trusted(member.source), replicas[other].stored.group == group else { continue }
            for place in folded where place.sequence > replicas[other].stored.held[place.source] {
                throw Violation(
                    "\(Schedule.name(of: peer)) has folded \(place.text), which \(member.source) has not stored")
            }
        }
    }

    /// Everybody who was mended agrees on everything.
    func checkEnd() throws(Violation) {
        let core = replicas.indices.filter { conditions.abandoned & 1 << UInt8($0) == 0 }
        guard let group = replicas[core[0]].engine.group else { throw Violation("nobody has founded a group") }
        for peer in core { try checkJoined(peer, group) }
        if core.count == replicas.count {
            try checkAllConfirmed(core, group)
        } else {
            try checkCoreHolds(core)
        }
        try checkEverything()
    }

    private func checkJoined(_ peer: Int, _ group: SessionSource) throws(Violation) {
        let engine = replicas[peer].engine
        let name = Schedule.name(of: peer)
        guard engine.group == group, engine.isSealed else { throw Violation("\(name) has not joined \(group)") }
        guard !engine.isProvisional else { throw Violation("\(name) still shows a provisional snapshot") }
    }

    private func checkAllConfirmed(_ core: [Int], _ group: SessionSource) throws(Violation) {
        let tally = try ghost.checkExactlyOnce(group)
        outcome.lostWithStores = tally.lostWithStores
        outcome.lostByForks = tally.lostByForks
        outcome.doubledByForks = tally.doubledByForks
        let stream = ghost.streams[group] ?? []
        outcome.confirmed = stream.count
        // After a fork another order may have become the final one; what all have confirmed of it decides.
        let count = ghost.mayFork ? replicas[core[0]].engine.confirmedCount : UInt64(stream.count)
        let expected = ghost.mayFork ? replicas[core[0]].engine.state : ghost.expectedState(group)
        for peer in core {
            let engine = replicas[peer].engine
            let name = Schedule.name(of: peer)
            guard engine.ownUnconfirmedCount == 0, engine.confirmedCount >= count else {
                throw Violation("\(name) has confirmed \(engine.confirmedCount) of \(count)")
            }
            guard engine.state == expected else { throw Violation("\(name)'s state is not what the final order gives") }
            guard engine.chain.value == replicas[core[0]].engine.chain.value else {
                throw Violation("\(name)'s chain differs")
            }
            guard engine.sideEffectsDue.isEmpty else { throw Violation("\(name) has not run all side effects") }
        }
    }

    /// Without those who stay away nothing more is confirmed; the others still have each other's events.
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
