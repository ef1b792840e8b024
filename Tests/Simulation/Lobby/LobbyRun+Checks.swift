import MeshSession

/// Invariants that must hold once everything has healed.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
extension LobbyRun {
    /// Returns a fault unless all running devices follow one invitation, each has its part in it, and no call hangs.
    func disagreement(_ views: [LobbyView]) -> String? {
        // A device trusts only a session's members. While it has heard of the session from others alone, it waits.
        let greatest = views.compactMap(\.invitation).max()
        let isHeard = greatest.map { greatest in views.contains { greatest.includes($0.name) } } ?? true
        for view in views {
            if !view.hanging.isEmpty { return "\(view.name): \(view.hanging.joined(separator: ", ")) doesn't return" }
            if let session = view.runningElsewhere.first {
                return "\(view.name) still runs \(session), which it has left"
            }
            guard view.invitation == views[0].invitation || !isHeard else {
                return "\(views[0].name) follows \(shortly(views[0])), but \(view.name) follows \(shortly(view))"
            }
            if let fault = partFault(view) { return fault }
        }
        return nil
    }

    private func shortly(_ view: LobbyView) -> String { view.invitation?.shortly ?? "none" }

    private func partFault(_ view: LobbyView) -> String? {
        let expected: SessionPart =
            switch view.invitation {
            case nil: .none
            case let invitation?: invitation.includes(view.name) ? .member : .spectator
            }
        if view.part != expected { return "\(view.name) is \(view.part), but the invitation says \(expected)" }
        let sessionID = expected == .member ? view.invitation?.sessionID : nil
        guard view.session?.id == sessionID else {
            return "\(view.name) has the session \(view.session?.id.shortly ?? "-"), not \(sessionID?.shortly ?? "-")"
        }
        return nil
    }

    /// Returns a fault of `disagreement`, or one if members and spectators don't show one state with every tap.
    func difference(_ views: [LobbyView]) -> String? {
        if let disagreement = disagreement(views) { return disagreement }
        if let fault = memoryFault(views) { return fault }
        let members = views.filter { $0.session != nil }
        guard let invitation = views.first?.invitation, let first = members.first?.session else { return nil }
        if members.contains(where: { $0.session?.hasEnded == true }) || ledger.isEnded(invitation.sessionID) {
            return endFault(members)
        }
        for view in members {
            guard let session = view.session else { continue }
            if session.state != first.state {
                return "\(members[0].name) shows \(first.state.numbers), and \(view.name) \(session.state.numbers)"
            }
            guard invitation.peerIDs.count > 1 else { continue }
            if !session.isMember { return "\(view.name) hasn't become a member" }
            if Set(session.memberIDs) != invitation.peerIDs {
                return "\(view.name) counts \(session.memberIDs.joined(separator: ", ")) as members"
            }
        }
        if let fault = ledger.fault(in: first.state.numbers, of: first.id) { return fault }
        return views.filter { $0.part == .spectator }.compactMap { observationFault($0, first) }.first
    }

    private func memoryFault(_ views: [LobbyView]) -> String? {
        let number = views.first?.invitation?.number ?? 0
        return remembered.values.max().flatMap { most in
            most > number ? "all follow session \(number), but session \(most) was stored" : nil
        }
    }

    /// Returns a fault if a member doesn't know that the session has ended, although another device could tell it. That
    /// device knows of the end, and has either an open session or a store from which to report the end later.
    private func endFault(_ members: [LobbyView]) -> String? {
        let isEndKnown = members.contains { view in
            guard let session = view.session, session.hasEnded else { return false }
            return !session.isClosed || schedule.keepers.contains(view.device)
        }
        guard isEndKnown else { return nil }
        return members.first { $0.session.map { $0.isMember && !$0.hasEnded } ?? false }
            .map { "\($0.name) doesn't know that the session has ended" }
    }

    private func observationFault(_ view: LobbyView, _ session: LobbyView.Session) -> String? {
        // If the members' state is empty, any observed state is correct: the events that a spectator saw were lost with
        // a store.
        if session.state == LobbyFeature.State() { return nil }
        guard let observed = view.observed, observed.sessionID == session.id else {
            return "\(view.name) observes nothing of the session"
        }
        return observed.state == session.state
            ? nil : "\(view.name) sees \(observed.state.numbers), and members show \(session.state.numbers)"
    }
}
