// How a view follows another one. Single-decree Paxos among the open members, with two additions: who promises freezes its
// promise, and quarantines what the ballot wants to close.
extension CompanyMember {
    /// Round 1. The proposer is the first that promises its ballot.
    mutating func begin(round: Int, closing: SmallSet, isForced: Bool = false) {
        promise(Ballot(round: round, proposer: source, closing: closing, isForced: isForced))
    }

    func mayPromise(_ other: Ballot) -> Bool {
        !isWaiting && ballot.map { $0 < other } ?? true
    }

    /// Round 2.
    mutating func promise(_ other: Ballot) {
        if frozen == nil, !rules.breaks(.noFreeze) { frozen = promise }
        ballot = other
        quarantined = rules.breaks(.quarantineLifted) ? other.closing : quarantined.union(other.closing)
    }

    /// Round 3: what may be proposed under the own ballot when these have answered. More than one where answers of different
    /// moments show different ends.
    func proposals(
        hearing answers: [Int: CompanyFacts.Answer], joining newcomers: SmallSet
    ) -> [CompanyView] {
        guard let ballot, ballot.proposer == source, accepted?.ballot != ballot else { return [] }
        let heard = SmallSet(answers.keys).intersection(view.open)
        let staying = view.open.subtracting(ballot.closing)
        let enough = rules.breaks(.noMajority) ? 1 : view.majority
        guard ballot.isForced ? staying.isSubset(of: heard) : heard.count >= enough else { return [] }
        // The lowest first, whatever a dictionary's order is.
        let ordered = heard.compactMap { answers[$0] }
        let earlier = ordered.compactMap(\.accepted).filter { $0.ballot < ballot }
        if let latest = earlier.max(by: { $0.ballot < $1.ballot }), !rules.breaks(.forgetsAccepted) {
            return [latest.decree]
        }
        let all = staying.isSubset(of: heard) || rules.breaks(.closeWithoutAll)
        guard ballot.closing.isEmpty || all else { return [] }
        var next = successor(of: ballot, newcomers)
        for newcomer in newcomers { next.floors[newcomer] = floor(ordered) }
        return ends(of: ballot.closing, hearing: staying.intersection(heard).compactMap { answers[$0] }).map { ends in
            var decree = next
            for closed in ballot.closing { decree.finals[closed] = ends[closed] }
            return decree
        }
    }

    private func successor(of ballot: Ballot, _ newcomers: SmallSet) -> CompanyView {
        var next = view
        next.trail.append(ballot.round << 8 | ballot.proposer)
        next.open = view.open.subtracting(ballot.closing).union(newcomers)
        next.closed = view.closed.union(ballot.closing)
        return next
    }

    private func floor(_ answers: [CompanyFacts.Answer]) -> Int {
        if rules.breaks(.floorless) || rules.breaks(.noFloor) { return 0 }
        if rules.breaks(.floorEarly) { return 1 + promise.stamp }
        let stamps = answers.map(\.frozenStamp)
        return 1 + ((rules.breaks(.floorLowest) ? stamps.min() : stamps.max()) ?? 0)
    }

    /// All who stay hold equally much: at one moment of each, as who holds less takes it from them and says so.
    private func ends(of closing: SmallSet, hearing answers: [CompanyFacts.Answer]) -> [Counts] {
        if rules.breaks(.unequalClose) { return [held] }
        var all = [Counts()]
        for closed in closing {
            let lowest = answers.map { $0.heldFirst[closed] }.max() ?? 0
            let highest = answers.map { $0.heldLast[closed] }.min() ?? 0
            guard lowest <= highest else { return [] }
            all = (lowest...highest).flatMap { end in
                all.map { ends in
                    var longer = ends
                    longer[closed] = end
                    return longer
                }
            }
        }
        return all
    }

    mutating func propose(_ decree: CompanyView) {
        guard let ballot else { return }
        accepted = Vote(ballot: ballot, decree: decree)
    }

    /// Round 4: of what its proposer has accepted.
    func mayAccept(_ vote: Vote) -> Bool {
        !isWaiting && ballot.map { $0 <= vote.ballot } ?? true && accepted?.ballot != vote.ballot
    }

    mutating func accept(_ vote: Vote) {
        if ballot != vote.ballot { promise(vote.ballot) }
        accepted = vote
    }

    /// Round 5: those whose votes decide. The user's word stands for the majority whatever the decree: an earlier one that
    /// has to be proposed again would otherwise wait for good for those whom the user goes on without.
    func isDecided(_ vote: Vote, by voters: SmallSet) -> Bool {
        if vote.ballot.isForced { return view.open.subtracting(vote.ballot.closing).isSubset(of: voters) }
        return voters.intersection(view.open).count >= (rules.breaks(.noMajority) ? 1 : view.majority)
    }

    /// Who lost power finds what it had persisted.
    mutating func crash() {
        if rules.breaks(.voteUnpersisted) {
            ballot = nil
            accepted = nil
        }
        if rules.breaks(.freezeForgotten) { frozen = nil }
    }
}
