import MeshBase

extension CompanyRun {
    /// Nothing goes wrong any more: first among those who are there, then with everybody.
    mutating func calm() throws(CompanyViolation) {
        weather.loss = 0
        weather.doubling = 0
        weather.crashes = 0
        severed = []
        let isWhole = devices.allSatisfy { !$0.isAway }
        try settle { $0.isEqual }
        if !isWhole {
            for device in devices.indices { devices[device].isAway = false }
            try settle { $0.isEqual }
        }
        try settle { $0.isDone }
        if isDeserted { return count("nobody left") }
        try check()
    }

    private mutating func settle(_ isSettled: (CompanyRun) -> Bool) throws(CompanyViolation) {
        for _ in 0..<40 * weather.patience + 200 {
            if isSettled(self) || isDeserted { return }
            round += 1
            for device in devices.indices where !devices[device].isAway {
                try act(device)
                while !network.isEmpty { try deliver() }
            }
        }
        throw CompanyViolation("P6, P7: never equal: \(account)")
    }

    /// All stores of the newest view are lost, and the others were fenced by it. Whoever still holds the events would have to
    /// found the group anew, for which the protocol has no rule.
    private var isDeserted: Bool { devices.allSatisfy { $0.member.isWaiting } }

    /// P6: those who are there show the same.
    private var isEqual: Bool {
        let members = devices.filter { !$0.isAway && !$0.member.isWaiting }
        guard let first = members.first else { return true }
        return members.allSatisfy { $0.shown == first.shown && $0.member.view == first.member.view }
    }

    /// All are members of one view that have confirmed everything.
    private var isDone: Bool {
        let first = devices[0].member
        return devices.allSatisfy { device in
            let member = device.member
            return !member.isWaiting && member.view == first.view && member.ballot == nil && member.held == first.held
                && member.confirmed == member.held
        }
    }

    /// P2 and P3: once everywhere.
    private func check() throws(CompanyViolation) {
        let member = devices[0].member
        var order: [(key: EventKey, id: Int)] = []
        for author in member.view.open.union(member.view.closed) where member.held[author] > 0 {
            for sequence in 1...member.held[author] {
                order.append((events.key(author, sequence), events[author, sequence].id))
            }
        }
        order.sort { $0.key < $1.key }
        let ids = order.map(\.id)
        guard Set(ids).count == ids.count else { throw CompanyViolation("P3: an event is there twice: \(ids)") }
        let missing = accepted.subtracting(ids).subtracting(lost).sorted()
        guard missing.isEmpty else { throw CompanyViolation("P2: lost: \(missing)") }
        let stream = ledger.stream(of: member.view)
        guard stream.count <= ids.count || stream.dropFirst(ids.count).allSatisfy({ $0 == nil }),
            zip(ids, stream).allSatisfy({ $1 == nil || $0 == $1 })
        else { throw CompanyViolation("P1: the order of all is not the one that was confirmed") }
    }

    private var account: String {
        devices.map { device in
            let member = device.member
            let about = member.isWaiting ? "waits" : "in \(member.view.text)"
            return
                "\(member.source)\(device.isAway ? " away" : "") \(about) shows \(device.shown.total), holds \(member.held.total), "
                + "confirmed \(member.confirmed.total)\(member.ballot.map { ", \($0.text)" } ?? "")"
                + (member.quarantined.isEmpty ? "" : ", quarantined \(member.quarantined.text)")
        }.joined(separator: "; ")
    }
}
