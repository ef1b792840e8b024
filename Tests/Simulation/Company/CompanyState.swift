/// Everything that a search tells apart: what all devices persist, and all that was ever said.
///
/// As statements stay true and may be late, lost or doubled, no device keeps what it has heard: it may always have heard
/// anything, or nothing. A crash is then no step of its own, except where a rule about persisting is broken.
struct CompanyState {
    var members: [CompanyMember]
    private(set) var facts: CompanyFacts
    private(set) var events = AuthoredEvents()
    /// Ids in the order in which they were confirmed, wherever that was first.
    private(set) var stream: [Int] = []
    private var ticks = 0
    private var ballots = 0
    private var losses = 0
    private var crashes = 0

    init(_ bounds: CompanyBounds, breaking mutations: Set<CompanyMutation>) {
        let count = bounds.members + bounds.newcomers
        let founders = SmallSet(0..<bounds.members)
        let rules = CompanyRules(breaking: mutations)
        members = (0..<count).map { CompanyMember(device: $0, of: count, founders: founders, rules: rules) }
        facts = CompanyFacts(for: rules)
        for member in members { facts.hear(member.statement) }
    }

    var fingerprint: Fingerprint {
        var fingerprint = Fingerprint()
        for member in members { member.mix(into: &fingerprint) }
        facts.mix(into: &fingerprint)
        events.mix(into: &fingerprint)
        for id in stream { fingerprint.mix(id) }
        fingerprint.mix(ticks << 24 | ballots << 16 | losses << 8 | crashes)
        return fingerprint
    }

    var newestView: Int { members.reduce(0) { max($0, $1.view.number) } }
}

// MARK: - Steps

extension CompanyState {
    func steps(_ bounds: CompanyBounds) -> [CompanyStep] {
        var steps: [CompanyStep] = []
        let taps = members.reduce(0) { $0 + $1.taps }
        for device in members.indices {
            if taps < bounds.taps { steps.append(.tap(device)) }
            if losses < bounds.losses, mayBeReborn(device) { steps.append(.loseStore(device)) }
            if members[device].isWaiting {
                addWaiting(device, &steps)
                continue
            }
            if ticks < bounds.ticks { steps.append(.tick(device)) }
            if crashes < bounds.crashes { steps.append(.crash(device)) }
            addTaking(device, &steps)
            addVoting(device, bounds, &steps)
        }
        return steps
    }

    /// Eight sources have room in counts; the search needs no more.
    private func mayBeReborn(_ device: Int) -> Bool { members[device].source + members.count < 8 }

    private func addWaiting(_ device: Int, _ steps: inout [CompanyStep]) {
        for giver in members.indices where members[giver].copy(for: members[device].source) != nil {
            steps.append(.adopt(device, from: giver))
        }
        guard mayBeReborn(device) else { return }
        for record in facts.records where record.closed.contains(members[device].source) {
            steps.append(.learn(device, record))
        }
    }

    private func addTaking(_ device: Int, _ steps: inout [CompanyStep]) {
        let member = members[device]
        for author in member.view.open.union(member.view.closed) where member.held[author] < events.count(of: author) {
            let sequence = member.held[author] + 1
            let tellers = member.view.open.union(member.view.closed)
            let teller = tellers.first {
                facts.heldEver(author, by: $0) >= sequence && member.accepts(author, sequence, from: $0)
            }
            if let teller {
                steps.append(.take(device, author: author, sequence: sequence, teller: teller))
            }
        }
    }

    private func addVoting(_ device: Int, _ bounds: CompanyBounds, _ steps: inout [CompanyStep]) {
        let member = members[device]
        for record in facts.records where member.mayLearn(record) && mayInstall(record, device) {
            steps.append(.learn(device, record))
        }
        guard member.view.number < bounds.views else { return }
        let known = facts.ballots(in: member.view.number)
        if ballots < bounds.ballots { addBeginning(device, known, bounds, &steps) }
        for ballot in known where member.mayPromise(ballot) { steps.append(.promise(device, ballot)) }
        for decree in proposals(of: member) { steps.append(.propose(device, decree)) }
        var decrees: [CompanyView] = []
        for proposer in member.view.open {
            for cast in facts.voice(proposer)?.votes ?? [] where cast.view == member.view.number {
                if cast.vote.ballot.proposer == proposer, member.mayAccept(cast.vote) {
                    steps.append(.accept(device, cast.vote))
                }
                let voters = SmallSet(member.view.open.filter { facts.hasVoted($0, in: cast.view, for: cast.vote) })
                guard !decrees.contains(cast.vote.decree), member.isDecided(cast.vote, by: voters) else { continue }
                decrees.append(cast.vote.decree)
                if mayInstall(cast.vote.decree, device) { steps.append(.decide(device, cast.vote.decree)) }
            }
        }
    }

    private func mayInstall(_ record: CompanyView, _ device: Int) -> Bool {
        record.open.contains(members[device].source) || mayBeReborn(device)
    }

    /// With a ballot higher than all, or only higher than what it may have heard.
    private func addBeginning(
        _ device: Int, _ known: [Ballot], _ bounds: CompanyBounds, _ steps: inout [CompanyStep]
    ) {
        let member = members[device]
        let own = (member.ballot?.round ?? 0) + 1
        let highest = (known.map(\.round).max() ?? 0) + 1
        for round in own == highest ? [own] : [own, highest] {
            steps.append(.begin(device, Ballot(round: round, proposer: member.source)))
            for other in member.view.open where other != member.source {
                steps.append(.begin(device, Ballot(round: round, proposer: member.source, closing: [other])))
            }
        }
    }

    /// With the answers of each set of members that may have been heard.
    private func proposals(of member: CompanyMember) -> [CompanyView] {
        guard let ballot = member.ballot, ballot.proposer == member.source else { return [] }
        let answers = member.view.open.compactMap { source in
            facts.answer(of: source, in: member.view.number, to: ballot).map { (source, $0) }
        }
        let staying = member.view.open.subtracting(ballot.closing)
        let free = facts.waiting.subtracting(member.view.open).subtracting(member.view.closed).filter { source in
            !staying.contains { member.isSameDevice($0, source) }
        }
        var decrees: [CompanyView] = []
        for heard in 1..<1 << answers.count {
            let some = answers.enumerated().filter { heard >> $0.offset & 1 == 1 }.map(\.element)
            guard some.contains(where: { $0.0 == member.source }) else { continue }
            for newcomers in free.isEmpty ? [[]] : [[], SmallSet(free)] as [SmallSet] {
                let proposals = member.proposals(
                    hearing: Dictionary(uniqueKeysWithValues: some), joining: newcomers)
                for decree in proposals where !decrees.contains(decree) { decrees.append(decree) }
            }
        }
        return decrees
    }
}

// MARK: - Doing them

extension CompanyState {
    func after(_ step: CompanyStep) throws(CompanyViolation) -> CompanyState {
        var next = self
        try next.perform(step)
        return next
    }

    private mutating func perform(_ step: CompanyStep) throws(CompanyViolation) {
        let device: Int
        switch step {
        case .tap(let tapped):
            device = tapped
            _ = members[device].tap(&events)
        case .tick(let idle):
            device = idle
            ticks += 1
            members[device].clock += 1
        case .take(let taker, let author, let sequence, _):
            device = taker
            try members[device].receive(author, sequence, events)
        case .begin(let proposer, let ballot):
            device = proposer
            ballots += 1
            members[device].begin(round: ballot.round, closing: ballot.closing)
        case .promise(let voter, let ballot):
            device = voter
            members[device].promise(ballot)
        case .propose(let proposer, let decree):
            device = proposer
            members[device].propose(decree)
        case .accept(let voter, let vote):
            device = voter
            members[device].accept(vote)
        case .decide(let member, let decree):
            device = member
            if let other = facts.records.first(where: { $0.number == decree.number && $0 != decree }) {
                throw CompanyViolation("P4: two views: \(other.text); \(decree.text)")
            }
            try members[device].install(decree)
        case .learn(let member, let record):
            device = member
            try members[device].install(record)
        case .adopt(let newcomer, let giver):
            device = newcomer
            guard let copy = members[giver].copy(for: members[device].source) else { return }
            members[device].adopt(copy, &events)
        case .loseStore(let loser):
            device = loser
            losses += 1
            members[device].loseStore()
        case .crash(let victim):
            device = victim
            crashes += 1
            members[device].crash()
        }
        facts.hear(members[device].statement)
        forget()
        try confirm()
    }

    /// What makes no difference any more, so that states that differ by it alone are one.
    private mutating func forget() {
        let oldest = members.lazy.filter { !$0.isWaiting }.map(\.view.number).min() ?? 0
        if oldest > 0 { facts.forget(below: oldest) }
        // A proposer that lost its vote may come to a ballot again.
        guard members.first?.rules.breaks(.voteUnpersisted) == false else { return }
        let members = members
        facts.forgetAnswers { view, ballot in
            !members.contains { member in
                member.source == ballot.proposer && member.view.number == view && member.ballot == ballot
                    && member.accepted?.ballot != ballot
            }
        }
    }

    /// All that can be confirmed, at once: nothing depends on its being late.
    private mutating func confirm() throws(CompanyViolation) {
        for device in members.indices {
            while let id = members[device].confirmNext(facts, events) {
                let (source, position) = (members[device].source, members[device].confirmed.total - 1)
                if position < stream.count {
                    guard stream[position] != id else { continue }
                    throw CompanyViolation(
                        "P1: \(source) confirms \(id) at \(position), where \(stream[position]) was confirmed")
                }
                guard position == stream.count else {
                    throw CompanyViolation("P1: \(source) confirms at \(position), and \(stream.count) are confirmed")
                }
                if stream.contains(id) { throw CompanyViolation("P3: \(source) confirms \(id) a second time") }
                stream.append(id)
            }
        }
    }
}
