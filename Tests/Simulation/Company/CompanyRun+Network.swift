import MeshBase

extension CompanyRun {
    // MARK: - Talking

    /// A control, and what the peer lacks of what this device holds, whoever wrote it.
    mutating func talk(_ device: Int, to peer: Int) {
        guard !devices[device].isAway, !severed.contains([device, peer]) else { return }
        if happens(weather.loss) { return }
        let (member, facts) = (devices[device].disk, devices[device].facts)
        let listener = currentSource(of: peer, as: facts, member)
        var message = Message(
            sender: device, receiver: peer, statement: member.statement, events: [], copy: member.copy(for: listener))
        if facts.voice(listener)?.holdings.isEmpty == false { message.copy = nil }
        for author in member.view.open.union(member.view.closed) where !member.isWaiting {
            let (known, shown) = (facts.heldEver(author, by: listener), devices[device].shown[author])
            guard known < shown, !happens(weather.loss) else { continue }
            message.events.append((author, known + 1...min(shown, known + 40)))
        }
        network.append(message)
        if happens(weather.doubling) { network.append(message) }
        // What waits longest is lost: nothing is owed to anybody.
        if network.count > 64 * deviceCount { network.removeFirst(16 * deviceCount) }
    }

    /// The latest life of a device that this one has heard of.
    private func currentSource(of device: Int, as facts: CompanyFacts, _ member: CompanyMember) -> Int {
        let known = member.view.open.union(facts.waiting).filter { $0 % deviceCount == device }
        return known.max() ?? device
    }

    mutating func deliver() throws(CompanyViolation) {
        guard !network.isEmpty else { return }
        let isOvertaking = happens(0.3)
        let index = isOvertaking ? random.draw(0...network.count - 1) : 0
        let message = network.remove(at: index)
        guard !devices[message.receiver].isAway, !severed.contains([message.sender, message.receiver]) else { return }
        try receive(message, at: message.receiver)
    }

    private mutating func receive(_ message: Message, at device: Int) throws(CompanyViolation) {
        let statement = message.statement
        devices[device].heard[statement.source] = round
        if counts(statement, at: device) {
            devices[device].facts.hear(statement)
        } else {
            devices[device].facts.hear(record: statement.view)
        }
        if let copy = message.copy, devices[device].member.isWaiting,
            copy.view.open.contains(devices[device].member.source)
        {
            devices[device].member.adopt(copy, &events)
            devices[device].facts = CompanyFacts(for: devices[device].member.rules)
            trimShown(device)
            count("copy adopted")
            trace?("\(round): \(devices[device].member.source) adopts a copy of view \(copy.view.number)")
        }
        for (author, sequences) in message.events where counts(statement, at: device) {
            for sequence in sequences { try take(author, sequence, from: statement, at: device) }
        }
        if weather.clocksFollow, !statement.isWaiting {
            devices[device].member.clock = max(devices[device].member.clock, statement.promise.stamp)
        }
        try persist(device)
        if happens(0.5) { try vote(device) }
        if happens(0.5) { try confirm(device) }
    }

    /// What a member says in a newer view, or in one of another chain, is its record only, until that is installed.
    private func counts(_ statement: CompanyStatement, at device: Int) -> Bool {
        let member = devices[device].member
        if statement.isWaiting { return true }
        if statement.view.number > member.view.number {
            return member.rules.breaks(.newerViewCounts) || member.rules.breaks(.newerHoldingCounts)
        }
        return member.view.follows(statement.view) || member.rules.breaks(.otherSideHeard)
    }

    /// Everything is shown. Under quarantine only that is held, and said to be, which another member holds.
    private mutating func take(
        _ author: Int, _ sequence: Int, from statement: CompanyStatement, at device: Int
    ) throws(CompanyViolation) {
        let member = devices[device].member
        if member.accepts(author, sequence, from: statement.source), statement.held[author] >= sequence {
            try devices[device].member.receive(author, sequence, events)
        } else if !member.isWaiting, !member.rules.breaks(.quarantineHides), member.view.covers(author, sequence),
            devices[device].shown[author] + 1 == sequence
        {
            devices[device].shown[author] = sequence
        }
    }

    // MARK: - Confirming

    mutating func confirm(_ device: Int) throws(CompanyViolation) {
        while let id = devices[device].member.confirmNext(devices[device].facts, events) {
            let position = devices[device].member.confirmed.total - 1
            guard try persist(device) else { return }
            let member = devices[device].member
            try ledger.confirm(id, at: position, by: member.source, in: member.view)
            trace?("\(round): \(member.source) confirms \(id) at \(position) in view \(member.view.number)")
        }
    }
}
