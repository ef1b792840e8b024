import MeshBase
import MeshEngine
import MeshIdentity
import MeshVirtualTime

// Users' decisions about the group's members.
extension World {
    func begin(_ what: MembershipFault, by peer: Int, _ index: Int32) throws(Violation) {
        switch what {
        case .invitation(let host): try invite(peer, host, index)
        case .leaving: try leave(peer)
        case .goingOn: try removeOthers(at: peer)
        case .primaryLost(let loss): try losePrimary(loss, orElse: peer)
        }
    }

    /// Starts the peer and lets a member invite it. Retries every 100 ms until a member is able to.
    private func invite(_ peer: Int, _ host: Int, _ index: Int32) throws(Violation) {
        let hosts = replicas.indices.map { ($0 + host) % replicas.count }
        guard
            let host = hosts.first(where: {
                $0 != peer && isAwake($0) && (schedule.isOwn || replicas[$0].outline.isSealed)
            })
        else {
            return agenda.enter(.fault(index), at: now + 100_000)
        }
        outcome.faults[.invitation] += 1
        trace(peer) { "joins" }
        membership?.absent.remove(peer)
        situations[peer] = Situation(clockOffset: situations[peer].clockOffset)
        forgetSilence(of: peer)
        guard !schedule.isOwn else { return }
        trace(host) { "invites \(name(peer))" }
        replicas[host].engine.invite(name(peer))
        try settle(host)
    }

    private func leave(_ peer: Int) throws(Violation) {
        guard isAwake(peer), replicas[peer].outline.isSealed, canLosePeer(peer) else { return }
        outcome.faults[.leaving] += 1
        trace(peer) { "leaves" }
        membership?.leaving.insert(peer)
        replicas[peer].engine.leave()
        try settle(peer)
    }

    private func removeOthers(at peer: Int) throws(Violation) {
        guard isAwake(peer), replicas[peer].outline.isSealed else { return }
        try remove(replicas.indices.filter { $0 != peer }, at: peer)
    }

    func remove(_ others: [Int], at peer: Int) throws(Violation) {
        outcome.faults[.goingOn] += 1
        trace(peer) { "removes \(others.map(name))" }
        if let membership, !membership.goingOn.isEmpty, !membership.goingOn.contains(peer) {
            ghost.views.mayBranch = true
        }
        // The others may have decided a view that this member hasn't heard of. Then rule 21 of
        // Docs/Internals/Convergence.md allows two views of that number.
        if let line = line(of: peer), let newest = ghost.views.newest(of: line),
            newest.number > replicas[peer].engine.view
        {
            ghost.views.mayBranch = true
        }
        membership?.goingOn.insert(peer)
        replicas[peer].engine.removeMembers(Set(others.map(name)))
        try settle(peer)
    }

    /// Stops the lowest member of the newest view, or makes it lose its store, if the others can continue without it.
    private func losePrimary(_ loss: MembershipFault.Loss, orElse peer: Int) throws(Violation) {
        let line = core.lazy.compactMap { self.line(of: $0) }.first
        let lowest = line.flatMap { ghost.views.newest(of: $0)?.open.first?.peerID }
        let primary = lowest.flatMap(index) ?? peer
        guard isAwake(primary), canLosePeer(primary) else { return }
        outcome.membership.primariesLost += 1
        outcome.faults[.primaryLost] += 1
        trace(primary) { "is lost (\(loss))" }
        switch loss {
        case .ofStore:
            outcome.faults[.lostStore] += 1
            try loseStore(primary)
        case .forGood where 2 * (conditions.abandoned.count + 1) < replicas.count:
            outcome.faults[.abandonedPeer] += 1
            conditions.abandoned.insert(primary)
            situations[primary].isRunning = false
        case .forGood, .forAWhile:
            situations[primary].isRunning = false
            agenda.enter(.start(peer: Int32(primary)), at: now + 2_000_000 + random.upTo(2_000_000))
        }
    }

    /// True if the group can continue without the peer: another member of the newest view is present for good and isn't
    /// about to leave. Two peers may both lose their stores while they are in their first view: they start over.
    func canLosePeer(_ peer: Int) -> Bool {
        guard membership != nil else { return true }
        guard !isOut(peer), !isLeaving(peer) else { return false }
        guard replicas[peer].outline.isSealed else { return true }
        guard let line = line(of: peer), let newest = ghost.views.newest(of: line) else { return false }
        if replicas.count == 2, newest.number == 0 { return core.contains(1 - peer) && !isLeaving(1 - peer) }
        return core.contains { other in
            other != peer && !isLeaving(other) && newest.open.contains(replicas[other].outline.source)
        }
    }

    // MARK: - After healing

    func beginDecisions() {
        guard membership != nil else { return }
        for peer in replicas.indices where !conditions.abandoned.contains(peer) { forgetSilence(of: peer) }
        let seen = newestView?.view.number
        membership?.lastSeen = seen
        enter(.decide, atMilliseconds: schedule.healing + 1_500)
    }

    /// Lets the users of members invite peers:
    ///
    /// - peers that their device has never met
    /// - peers that were removed, if no other member of their device's view is left and there is a newer view
    /// - all peers, if there are two groups because peers that had lost their stores met
    private func inviteEachOther(_ line: GroupLine) {
        let members = core.filter { self.line(of: $0) != nil }
        let isOneGroup = members.allSatisfy { self.line(of: $0)?.group == line.group }
        for host in members {
            let membership = replicas[host].engine.membership
            let removed = isLeftWithoutMembers(host) ? [] : membership.closed
            let known = Set(membership.open.map(\.source.peerID) + removed.map(\.source.peerID))
            for peer in core where peer != host && !(isOneGroup && known.contains(name(peer))) {
                // One user's devices need no invitation, unless one of the two has removed the other.
                if schedule.isOwn, !isLeftWithoutMembers(host), !hasRemoved(host, peer), !hasRemoved(peer, host) {
                    continue
                }
                replicas[host].engine.invite(name(peer))
            }
        }
    }

    private func hasRemoved(_ host: Int, _ peer: Int) -> Bool {
        let membership = replicas[host].engine.membership
        return membership.closed.contains { $0.source.peerID == name(peer) }
            && !membership.open.contains { $0.source.peerID == name(peer) }
    }

    /// True if no other member of the peer's view is present, and there is a newer view.
    private func isLeftWithoutMembers(_ host: Int) -> Bool {
        let engine = replicas[host].engine
        let others = core.filter { $0 != host }
        return engine.view < newestView?.view.number ?? 0
            && !others.contains { engine.membership.open.map(\.source).contains(replicas[$0].outline.source) }
    }

    /// Makes users decide, now and then. They invite peers that they miss. If the remaining members of the newest view
    /// aren't a majority of it, the user of one of them removes the others.
    func decide() throws(Violation) {
        guard let membership else { return }
        // Users decide several times, because a peer that was admitted just before may stay away.
        if now < UInt64(schedule.healing + 4_000) * 1_000 { agenda.enter(.decide, at: now + 1_500_000) }
        if membership.isLost { return }
        guard let (line, newest) = newestView else { return loseGroup() }
        let left = core.filter { self.line(of: $0) == line && newest.open.contains(replicas[$0].outline.source) }
        guard let decider = left.first(where: { !isLeaving($0) }) ?? left.first else { return loseGroup() }
        inviteEachOther(line)
        // If the view is new, other members may not have heard of it yet.
        let stands = membership.lastSeen == newest.number
        self.membership?.lastSeen = newest.number
        guard membership.plan.lease != nil, stands, 2 * left.count <= newest.open.count else {
            return try settle(decider)
        }
        let known = replicas[decider].engine
        let missing = known.membership.open.compactMap { index(of: $0.source.peerID) }.filter { !left.contains($0) }
        // In a group of two, the engine of the survivor admits a peer that has lost its store, without its user.
        if known.membership.open.count == 2, core.contains(missing[0]) { return try settle(decider) }
        // The missing peers may have decided another view, of which the remaining members won't hear.
        if missing.contains(where: { situations[$0].isRunning }) { ghost.views.mayBranch = true }
        try remove(missing, at: decider)
    }

    /// The newest view of all groups, which is the one with the highest number. Of equal ones, the one with the most
    /// members.
    var newestView: (line: GroupLine, view: (number: UInt64, open: [SessionSource]))? {
        let lines = core.compactMap { line(of: $0) }
        return lines.compactMap { line in ghost.views.newest(of: line).map { (line, $0) } }
            .max { ($0.1.number, $0.1.open.count) < ($1.1.number, $1.1.open.count) }
    }

    private func loseGroup() {
        outcome.membership.groupsLost += 1
        membership?.isLost = true
    }
}
