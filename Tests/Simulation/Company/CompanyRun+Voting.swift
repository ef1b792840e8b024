import MeshBase

extension CompanyRun {
    /// What a device does for the next view, as far as it has heard.
    mutating func vote(_ device: Int) throws(CompanyViolation) {
        // A record may come later than what else the same member says.
        if happens(0.6) { guard try learn(device) else { return } }
        guard try decide(device) else { return }
        guard !devices[device].member.isWaiting else { return }
        try accept(device)
        try promise(device)
        try propose(device)
        try begin(device)
    }

    private mutating func learn(_ device: Int) throws(CompanyViolation) -> Bool {
        let member = devices[device].member
        guard let record = devices[device].facts.records.last(where: member.mayLearn) else { return true }
        // A device without a view can only be told that its name is used up.
        if member.isWaiting, !record.closed.contains(member.source) { return true }
        return try install(record, at: device)
    }

    private mutating func install(_ record: CompanyView, at device: Int) throws(CompanyViolation) -> Bool {
        let was = devices[device].member.source
        try devices[device].member.install(record)
        trace?("\(round): \(was) installs view \(record.number) of \(record.text)")
        if devices[device].member.source != was { count("fenced") }
        devices[device].facts.forget(below: record.number)
        trimShown(device)
        return try persist(device)
    }

    private mutating func decide(_ device: Int) throws(CompanyViolation) -> Bool {
        let (member, facts) = (devices[device].member, devices[device].facts)
        guard !member.isWaiting else { return true }
        for proposer in member.view.open {
            for cast in facts.voice(proposer)?.votes ?? [] where cast.view == member.view.number {
                let voters = member.view.open.filter { facts.hasVoted($0, in: cast.view, for: cast.vote) }
                guard member.isDecided(cast.vote, by: SmallSet(voters)) else { continue }
                try ledger.decide(cast.vote.decree, isForced: cast.vote.ballot.isForced)
                count("decided")
                return try install(cast.vote.decree, at: device)
            }
        }
        return true
    }

    private mutating func accept(_ device: Int) throws(CompanyViolation) {
        let (member, facts) = (devices[device].member, devices[device].facts)
        let view = member.view.number
        // Of what somebody accepted under a ballot of that proposer; there is only one such decree.
        let votes = member.view.open.flatMap { facts.voice($0)?.votes ?? [] }
        let latest = votes.filter { $0.view == view }.map(\.vote).max { $0.ballot < $1.ballot }
        guard let latest, member.mayAccept(latest), agrees(device, to: latest.ballot) else { return }
        devices[device].member.accept(latest)
        devices[device].voted = round
        trace?("\(round): \(member.source) accepts \(latest.decree.text) under \(latest.ballot.text)")
        try persist(device)
    }

    private mutating func promise(_ device: Int) throws(CompanyViolation) {
        let member = devices[device].member
        guard let ballot = devices[device].facts.highestBallot(in: member.view.number), member.mayPromise(ballot),
            agrees(device, to: ballot)
        else { return }
        devices[device].member.promise(ballot)
        devices[device].voted = round
        trace?("\(round): \(member.source) promises \(ballot.text)")
        try persist(device)
    }

    private mutating func propose(_ device: Int) throws(CompanyViolation) {
        let (member, facts) = (devices[device].member, devices[device].facts)
        guard let ballot = member.ballot, ballot.proposer == member.source else { return }
        var answers: [Int: CompanyFacts.Answer] = [:]
        for other in member.view.open {
            guard var answer = facts.answer(of: other, in: member.view.number, to: ballot) else { continue }
            answer.heldFirst = answer.heldLast
            answers[other] = answer
        }
        let joining = newcomers(device, closing: ballot.closing)
        guard let decree = member.proposals(hearing: answers, joining: joining).first else { return }
        devices[device].member.propose(decree)
        trace?("\(round): \(member.source) proposes \(decree.text) under \(ballot.text)")
        try persist(device)
    }

    private mutating func begin(_ device: Int) throws(CompanyViolation) {
        let member = devices[device].member
        let isVoting = member.ballot != nil
        guard !isVoting || round - devices[device].voted > weather.patience else { return }
        var closing = suspects(device)
        let living = member.view.open.subtracting(closing)
        let isForced = goesOn(device, without: closing)
        guard isForced || living.count >= member.view.majority else { return }
        // A try that came to nothing may have wanted too much.
        if isVoting, happens(0.5) { closing = isForced ? member.view.open.subtracting([member.source]) : [] }
        guard isVoting || !closing.isEmpty || !newcomers(device, closing: closing).isEmpty else { return }
        guard isForced || living.lowest == member.source || happens(0.1) else { return }
        let highest = max(
            devices[device].facts.highestBallot(in: member.view.number)?.round ?? 0, member.ballot?.round ?? 0)
        devices[device].member.begin(round: highest + 1, closing: closing, isForced: isForced)
        devices[device].voted = round
        count(isForced ? "go on without" : closing.isEmpty ? "ballot" : "ballot that closes")
        trace?("\(round): \(member.source) begins \(devices[device].member.ballot.map(\.text) ?? "")")
        try persist(device)
    }

    // MARK: - Who is there

    /// Members quarantine whom they suspect themselves. What the user wants closed, or another life replaces, is closed.
    private func agrees(_ device: Int, to ballot: Ballot) -> Bool {
        ballot.isForced || ballot.closing.isSubset(of: suspects(device))
    }

    private func suspects(_ device: Int) -> SmallSet {
        let (member, state) = (devices[device].member, devices[device])
        return SmallSet(
            member.view.open.filter { other in
                guard other != member.source, !isLastLife(other) else { return false }
                let silence = round - max(state.heard[other] ?? 0, state.launched)
                return isReplaced(other, state) || silence > weather.patience
            })
    }

    /// Another life of its device has spoken.
    private func isReplaced(_ source: Int, _ state: Device) -> Bool {
        state.facts.waiting.contains { $0 > source && $0 % deviceCount == source % deviceCount }
    }

    /// Who waits, was heard lately, and is nobody's second life in this view.
    private func newcomers(_ device: Int, closing: SmallSet) -> SmallSet {
        let (view, state) = (devices[device].member.view, devices[device])
        let staying = view.open.subtracting(closing)
        return SmallSet(
            state.facts.waiting.filter { source in
                !view.open.contains(source) && !view.closed.contains(source)
                    && round - (state.heard[source] ?? 0) <= weather.patience
                    && !staying.contains { $0 % deviceCount == source % deviceCount }
                    && !isReplaced(source, state)
            })
    }

    /// The user's word. Nobody needs it in a group of two whose other store is lost: nothing was decided without this one.
    private mutating func goesOn(_ device: Int, without closing: SmallSet) -> Bool {
        let view = devices[device].member.view
        guard !closing.isEmpty else { return false }
        if view.open.count == 2 {
            return closing.allSatisfy { isReplaced($0, devices[device]) } || happens(weather.userGoesOn)
        }
        // Most stores are lost: without a word nobody would ever move on.
        let living = view.open.filter { source in devices.contains { $0.member.source == source } }
        let isNewest = !devices.contains { !$0.member.isWaiting && $0.member.view.supersedes(view) }
        return isNewest && living.count < view.majority
            && closing == view.open.subtracting(SmallSet(living))
    }
}
