import MeshEngine
import MeshIdentity

// Invariants of groups whose members change.
extension World {
    /// Checks that a member never returns to an earlier view, and that a view's number stands for one view.
    func noteView(_ peer: Int) throws(Violation) {
        guard let membership else { return }
        let replica = replicas[peer]
        let standing = WorldMembership.Standing(
            source: replica.outline.source, group: replica.outline.group, number: replica.engine.view,
            launchCount: replica.launchCount)
        let before = membership.standings[peer]
        guard standing != before else { return }
        self.membership?.standings[peer] = standing
        guard let group = standing.group, replica.outline.isSealed else { return }
        let isSame = standing.group == before?.group && standing.source == before?.source
        if isSame, let before, standing.launchCount == before.launchCount, standing.number < before.number {
            throw Violation("\(replica.name) goes back from view \(before.number) to view \(standing.number)")
        }
        if let unreal = replica.engine.membership.open.first(where: { index(of: $0.source.peerID) == nil }) {
            throw Violation("\(unreal.source) doesn't exist but is a member in the view of \(replica.name)")
        }
        let (branch, newcomers) = try ghost.views.install(
            standing.number, replica.engine.membership, in: group, from: isSame ? membership.branches[peer] : nil)
        self.membership?.branches[peer] = branch
        trace(peer) { "is in view \(standing.number) with \(replica.engine.membership.open.map(\.source))" }
        guard let newcomers, standing.number > 0 else { return }
        outcome.membership.views += 1
        for source in newcomers { count(source) }
    }

    /// Records a peer that has noticed that it is fenced. It has to continue as another source, even if it crashes
    /// first.
    func noteFences(_ alarms: [SessionAlarm], at peer: Int) {
        guard membership != nil, alarms.contains(where: { if case .fenced = $0 { true } else { false } }) else {
            return
        }
        outcome.membership.fences += 1
        membership?.fenced.insert(replicas[peer].outline.source)
        guard let line = line(of: peer) else { return }
        membership?.leftBehind.append(.init(peer: peer, line: line, folded: replicas[peer].engine.folded))
    }

    private func count(_ newcomer: SessionSource) {
        switch replicas.first(where: { $0.outline.source == newcomer })?.origin {
        case .first: outcome.membership.joins += 1
        case .reincarnated: outcome.membership.returns += 1
        case .lostStore: outcome.membership.replacements += 1
        case nil: break
        }
    }

    /// Records the promise that a member has frozen until the next view.
    func noteFrozen(_ envelope: SessionSyncEnvelope<SessionControl>, of peer: Int) throws(Violation) {
        guard membership != nil, let view = envelope.payload.view, let frozen = view.change?.frozen,
            let line = line(of: peer)
        else {
            return
        }
        try ghost.views.freeze(frozen.stamp, by: envelope.metadata.source, in: view.number, of: line)
    }

    func checkConfirmedInView(
        _ events: [SessionConfirmedEvent<Feature.Event>], at peer: Int
    ) throws(Violation) {
        guard membership != nil, let line = line(of: peer) else { return }
        let number = replicas[peer].engine.view
        for event in events {
            let metadata = event.envelope.metadata
            try ghost.views.confirm(metadata.place, metadata.stamp, in: number, of: line, by: name(peer))
        }
    }

    /// True if the two peers count closed sources up to the same sequences.
    func isInOneView(_ one: Int, _ other: Int) -> Bool {
        guard membership != nil else { return true }
        return line(of: one) == line(of: other) && replicas[one].engine.view == replicas[other].engine.view
    }

    // MARK: - Checks at the end

    var isGroupLost: Bool { membership?.isLost ?? false }

    /// True if no absent peer is still a member in the end. Without a lease, absent members are never removed.
    func hasNoAbsentMember(_ core: [Int]) -> Bool {
        guard let membership else { return core.count == replicas.count }
        // The leaves of a star don't hear each other, so nothing is confirmed.
        if schedule.setting == .hub { return false }
        return membership.plan.lease != nil || conditions.abandoned.isEmpty
    }

    /// Allows the loss of events that only absent peers hold, and of events that a fenced peer has folded. The fenced
    /// peer can't reissue those when it returns: see Docs/Internals/Convergence.md.
    func expectLosses(_ core: [Int]) {
        for peer in replicas.indices where !core.contains(peer) { ghost.expectCuts(of: name(peer)) }
        guard let final = newestView?.line else { return }
        for left in membership?.leftBehind ?? [] {
            // A user's own devices may also leave their group for one that a former member has founded since.
            let goesOn = left.line == final || left.line == ghost.formerLines[final.group] && !schedule.isOwn
            if ghost.views.mayBranch || !goesOn { ghost.forgive(left.folded, of: name(left.peer)) }
        }
    }

    func checkOneView(_ core: [Int]) throws(Violation) {
        guard membership != nil else { return }
        let first = replicas[core[0]].engine
        for peer in core {
            let engine = replicas[peer].engine
            guard isInOneView(peer, core[0]) else {
                throw Violation("\(name(peer)) is in view \(engine.view), \(name(core[0])) in view \(first.view)")
            }
            guard !engine.isChangingView else { throw Violation("\(name(peer)) waits for a view after \(engine.view)") }
            guard !isLeaving(peer) else { throw Violation("\(name(peer)) wants to leave and is still a member") }
            try checkMembers(engine.membership.open.map(\.source), core, at: peer)
            if !hasNoAbsentMember(core) { try checkHoldsAll(engine, first) }
        }
    }

    private func checkMembers(_ open: [SessionSource], _ core: [Int], at peer: Int) throws(Violation) {
        for other in core where !open.contains(replicas[other].engine.source) {
            throw Violation("\(name(other)) isn't a member in the view of \(name(peer))")
        }
        guard hasNoAbsentMember(core),
            let away = open.first(where: { source in
                !core.contains { replicas[$0].engine.source == source }
            })
        else { return }
        throw Violation("\(away) is away but still a member in the view of \(name(peer))")
    }

    /// Checks that members relay to each other the events that an absent member sent to only some of them.
    private func checkHoldsAll(_ one: Engine, _ other: Engine) throws(Violation) {
        let held = other.held
        for place in one.held.entries where held[place.source] != place.sequence {
            throw Violation(
                "\(one.localPeerID) holds \(place.text), \(other.localPeerID) up to \(held[place.source])")
        }
    }
}
