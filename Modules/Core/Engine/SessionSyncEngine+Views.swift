import MeshIdentity

/// The members of one view decide on the next. Each decision is one decree of Paxos, and controls carry its messages.
///
/// - *Prepare*: a member that wants a change starts a **ballot** above all that it knows, and names the members to
///   close.
/// - *Promise*: its proposer, and each member that hears of it, promise the ballot. From then on they are **frozen**:
///   they promise nothing more about their events. So the cut stands still everywhere, and a newcomer can get a
///   **floor** above it. Members to be closed are **quarantined**: of their events, only those that a staying member
///   already holds are accepted. Both last until the next view, unless a user's decision lifts the quarantine of
///   members that it keeps.
/// - *Propose* a view, once a majority has promised. To close a member, all that stay must have promised and hold
///   equally many of its events. A record that was accepted under an earlier ballot is proposed first.
/// - *Accept*, then *install* the view that a majority has accepted. A member that isn't in it is **fenced**.
///
/// Members still write and apply events meanwhile. A later view's promises and acknowledgements count here only once
/// that view is installed here too. Otherwise a minority could confirm events.
///
/// Sources: Lamport: *Paxos Made Simple* (2001); Lamport, Malkhi, Zhou: *Reconfiguring a State Machine* (2010); Birman
/// and Joseph: *Exploiting Virtual Synchrony* (1987). Deviations: statements are idempotent and gossiped, so any member
/// can count votes. Members keep writing: only confirmation stands still. A user's decision can replace a majority.
/// Rules 17 to 21 of Docs/Internals/Convergence.md.
extension SessionSyncEngine {
    // MARK: - Receiving

    /// Handles a newer view that a control reports, before anything else in the message counts.
    ///
    /// - Returns: true if the control fences this engine.
    mutating func handleNewerView(_ message: EngineMessage<State, Event>) -> Bool {
        let control = message.control
        guard groupName != nil, control.group == groupName, let number = control.view?.number,
            number > stance.number
        else { return false }
        // A device of this user that was never a member can add members, but can't report who has been closed.
        let mayFence = isMember(message.source.peerID) || membershipIntent.invited.contains(message.source.peerID)
        guard control.members.contains(source) else {
            if mayFence { fence(by: number) }
            return mayFence
        }
        guard let record = control.record, record.number == number, isWithinMaximumSkip(number, of: stance.number)
        else {
            return false
        }
        // A member that stays must have agreed to every closing. This one can't agree to it, so a user elsewhere has
        // decided to continue without some members.
        guard canAccept(record) else {
            if mayFence { fence(by: number) }
            return mayFence
        }
        if mayInstall(record) { install(record) }
        return false
    }

    private func isWithinMaximumSkip(_ number: UInt64, of known: UInt64) -> Bool {
        number <= known + SessionViewRecord.stepMax
    }

    /// Handles a message from a source that isn't a member any more.
    mutating func answerRemovedMember(_ message: EngineMessage<State, Event>) {
        let control = message.control
        // If the peer has a newer incarnation here, this is a late message from an earlier one.
        guard sealed, sources.openSlot(ofPeer: message.source.peerID) == nil else { return }
        if control.group == nil { return sendRecord(to: message.source.peerID) }
        guard control.group == groupName else { return }
        let number = control.view?.number ?? 0
        // A sender in an earlier view doesn't know yet that it was closed.
        if number > stance.number || number == stance.number && ranksBelow(groupOf: control) {
            fence(by: number)
        } else {
            pending.controls.insert(message.source.peerID)
        }
    }

    /// Sends the view record to a peer that was closed before it knew that it had been admitted.
    private mutating func sendRecord(to peerID: String) {
        pending.records.insert(peerID)
        pending.controls.insert(peerID)
    }

    /// Fences this engine if it hasn't joined a group yet and the control says that it was a member and was closed.
    mutating func noticeOwnRemoval(in control: SessionControl) -> Bool {
        guard !sealed, let group = control.group,
            control.record?.membership.closed.contains(where: { $0.source == source }) == true
        else { return false }
        // An engine that founds no group may join any group, so it needs no particular one.
        fence(by: control.view?.number ?? 0, rejoining: groupToRejoin ?? (options.founds ? group : nil))
        return true
    }

    /// True if the sender's group wins over this one: it has more members, or equally many and the lowest source.
    private func ranksBelow(groupOf control: SessionControl) -> Bool {
        let ours = sources.openSources
        guard control.members.count == ours.count else { return control.members.count > ours.count }
        guard let theirs = control.members.min(), let our = ours.min() else { return false }
        return theirs < our
    }

    /// Records that the others have continued without this member, which must join again as another incarnation.
    mutating func fence(by number: UInt64, rejoining group: SessionSource? = nil) {
        guard !sources[0].isForked else { return }
        (groupToRejoin, rejoinWait) = (group ?? groupName, 0)
        pending.raise(.fenced(view: number))
        raiseFork(0, sources[0].held)
    }

    /// Leaves this group if another outranks it (rule 21 of Docs/Internals/Convergence.md). Returns true if so.
    ///
    /// There are two groups if a peer founds one while another exists: a new peer, or one that lost its store. This
    /// member follows members and invited peers, and the user's own devices if enough of them are heard. It doesn't
    /// count its partner in a group of two: one of them has lost its store, and rule 8 applies. A sealed group of one
    /// yields too, because its other members have left. A member that has voted for a view stays until it hears the
    /// outcome, or for `patienceMax` steps. The view may have been decided with its vote.
    mutating func yieldIfOutranked(by message: EngineMessage<State, Event>) -> Bool {
        let (control, peerID) = (message.control, message.source.peerID)
        if isMember(peerID) || membershipIntent.own.contains(peerID) {
            let isMember = sources.slot(of: message.source).map { sources[$0].isOpen } ?? false
            membershipIntent.groups.record(
                control, of: message.source, isMember: isMember, at: message.stamp, silence: exchanges(control.silence)
            )
        }
        guard groupName != nil, let group = control.group, group != groupName,
            openSlots.count > 1 || sealed
        else { return false }
        let isMemberOfBoth = isMember(peerID) && control.members.contains { $0.peerID == localPeerID }
        let isYielding =
            membershipIntent.invited.contains(peerID) && isOutranked(by: control, isInvited: true)
            || isMemberOfBoth && isOutranked(by: control, isInvited: false)
            || membershipIntent.own.contains(peerID) && !(isMemberOfBoth && openSlots.count == 2)
                && yieldsToOwnDevices(control, in: group)
        guard isYielding, !hasUndecidedVote else { return false }
        fence(by: control.view?.number ?? 0, rejoining: group)
        return true
    }

    private var hasUndecidedVote: Bool {
        stance.change?.accepted != nil && membershipIntent.age <= MembershipIntent.patienceMax
    }

    /// True if this member leaves its group for another one of the user's devices.
    ///
    /// It must have heard at least as many members of that group as are left in its own, so one device can't move a
    /// group. Former members don't count, because a user may have closed them. Together the groups must have at most 16
    /// members, so that each one that leaves finds a place. The group that would continue by rank also gives way after
    /// a while: members of the other one may not reach enough of this one.
    private func yieldsToOwnDevices(_ control: SessionControl, in group: SessionSource) -> Bool {
        let others = membershipIntent.groups.peers(in: group).filter { !wasMember($0.key) }.map(\.value)
        let left = openSlots.map { sources[$0].source.peerID }.filter { peerID in
            peerID == localPeerID || membershipIntent.groups[peerID]?.group ?? groupName == groupName
        }
        let all = Set(control.members.map(\.peerID)).union(left)
        guard others.count >= left.count, all.count <= SessionMembership.openMax
        else { return false }
        return isOutranked(by: control, isInvited: true) || others.allSatisfy { $0.age > PeerGroups.patience }
    }

    private func isOutranked(by control: SessionControl, isInvited: Bool) -> Bool {
        let number = control.view?.number ?? 0
        guard number == stance.number else { return number > stance.number }
        guard control.members.count == openSlots.count else { return ranksBelow(groupOf: control) }
        // Two groups of two stay as they are unless a user invites a peer.
        guard isInvited else { return openSlots.count > 2 && ranksBelow(groupOf: control) }
        guard let group = control.group, let groupName, control.members.min() == sources.openSources.min() else {
            return ranksBelow(groupOf: control)
        }
        return group < groupName
    }

    /// Handles a member's position between views.
    mutating func handle(_ statement: ViewStatement, from slot: Int) {
        let known = sources[slot].statement ?? ViewStatement(number: statement.number)
        var merged = known
        merged.merge(statement)
        sources[slot].statement = merged
        // The sender hasn't heard of this view.
        if statement.number < stance.number { pending.controls.insert(sources[slot].source.peerID) }
        guard statement.number == stance.number, let change = statement.change, sources[0].isOpen else { return }
        promise(change)
        if let accepted = change.accepted { accept(accepted) }
        advanceChange()
    }

    // MARK: - Promising and accepting

    /// Starts a ballot for the next view, which closes only the members that this one wants to close.
    mutating func prepare() {
        let rounds = openSlots.compactMap { sources[$0].statement?.change?.ballot.round } + [0]
        let round = max(rounds.max() ?? 0, stance.change?.ballot.round ?? 0) + 1
        guard round < SequenceBounds.hearsay, stance.number < SessionViewRecord.numberMax else { return }
        membershipIntent.age = 0
        let ballot = ViewBallot(round: round, proposer: source, isForced: !membershipIntent.removedByUser.isEmpty)
        enter(ballot, closing: closingSlots.map { sources[$0].source })
        advanceChange()
    }

    private mutating func promise(_ change: ViewChange) {
        guard stance.change.map({ $0.ballot < change.ballot }) ?? true,
            isWithinMaximumSkip(change.ballot.round, of: stance.change?.ballot.round ?? 0),
            change.closing.allSatisfy({ agrees(toClose: $0, by: change) })
        else { return }
        membershipIntent.age = 0
        enter(change.ballot, closing: change.closing)
    }

    /// Promises a ballot, which freezes this member.
    private mutating func enter(_ ballot: ViewBallot, closing: [SessionSource]) {
        var change = stance.change ?? ViewChange(ballot: ballot, frozen: promiseNow)
        (change.ballot, change.closing) = (ballot, closing)
        if ballot.isForced { change.quarantined = sourcesClosedByAcceptedRecord(keeping: ballot.proposer) }
        for source in closing where !change.quarantined.contains(source) {
            change.quarantined.append(source)
            // Buffered events arrived before the quarantine, and would become held once their gap closes.
            if let slot = sources.slot(of: source) { gaps[slot] = nil }
        }
        extendLease(beyond: change.frozen.stamp)
        stance.change = change
        notifyMembers()
    }

    /// The quarantined members that an accepted record closes; none if it closes the proposer. The record may have been
    /// decided, so it is proposed again.
    private func sourcesClosedByAcceptedRecord(keeping proposer: SessionSource) -> [SessionSource] {
        guard let membership = stance.change?.accepted?.record.membership,
            membership.open.contains(where: { $0.source == proposer })
        else { return [] }
        return membership.closed.map(\.source).filter(isQuarantined)
    }

    /// The promise to write nothing more at or below the clock's latest stamp.
    private var promiseNow: SequencePromise { SequencePromise(sequence: sources[0].held, stamp: clock.latest) }

    private mutating func accept(_ accepted: AcceptedView) {
        guard accepted.record.number == stance.number + 1,
            isWithinMaximumSkip(accepted.ballot.round, of: stance.change?.ballot.round ?? 0),
            stance.change.map({ $0.ballot <= accepted.ballot }) ?? true,
            stance.change?.accepted.map({ $0.ballot < accepted.ballot }) ?? true, canAccept(accepted.record)
        else { return }
        if stance.change?.ballot != accepted.ballot { enter(accepted.ballot, closing: []) }
        stance.change?.accepted = accepted
        membershipIntent.age = 0
        notifyMembers()
    }

    /// True if the record lists every open member. If this member stays, each closed one must be quarantined, and this
    /// one must hold exactly the events that the record keeps.
    private func canAccept(_ record: SessionViewRecord) -> Bool {
        let stays = record.membership.open.contains { $0.source == source }
        return openSlots.allSatisfy { slot in
            let member = sources[slot].source
            if record.membership.open.contains(where: { $0.source == member }) { return true }
            guard let closed = record.membership.closed.first(where: { $0.source == member }) else { return false }
            return !stays || isQuarantined(member) && sources[slot].held == closed.sequence
        }
    }

    func isQuarantined(_ source: SessionSource) -> Bool { stance.change?.quarantined.contains(source) ?? false }

    // MARK: - Proposing and deciding

    /// Continues the change as far as the received statements allow.
    mutating func advanceChange() {
        guard sealed, sources[0].isOpen, let change = stance.change else { return }
        if let record = decided { return install(record) }
        guard change.ballot.proposer == source, change.accepted?.ballot != change.ballot else { return }
        let answers = openSlots.filter { slot in
            let statement = slot == 0 ? stance : sources[slot].statement
            return statement?.number == stance.number && statement?.change?.ballot == change.ballot
        }
        guard change.ballot.isForced || isMajority(answers.count),
            let record = accepted(among: answers) ?? makeRecord(answers)
        else { return }
        stance.change?.accepted = AcceptedView(ballot: change.ballot, record: record)
        notifyMembers()
        if let record = decided { install(record) }
    }

    func isMajority(_ count: Int) -> Bool {
        count * 2 > openSlots.count
    }

    /// The record that may have been decided under an earlier ballot. Only a decision by the user of a device that it
    /// closes overrides it. Then two views may have the same number.
    private func accepted(among answers: [Int]) -> SessionViewRecord? {
        let latest = answers.compactMap { ($0 == 0 ? stance : sources[$0].statement)?.change?.accepted }
            .max { $0.ballot < $1.ballot }?.record
        guard let latest, stance.change?.ballot.isForced == true else { return latest }
        return latest.membership.open.contains { $0.source == source } ? latest : nil
    }

    /// - Returns: nil while staying members must still answer, or hold different numbers of a closed member's events.
    private mutating func makeRecord(_ answers: [Int]) -> SessionViewRecord? {
        var closing = closingSlots.filter { isQuarantined(sources[$0].source) }
        let staying = openSlots.filter { !closing.contains($0) }
        if !closing.isEmpty, !isReady(toClose: closing, staying, answers) {
            guard membershipIntent.age > membershipIntent.patience, membershipIntent.removedByUser.isEmpty else {
                return nil
            }
            // A staying member doesn't answer and would have to be closed first. Newcomers don't wait for that.
            closing = []
            membershipIntent.adjustPatience(longer: true)
            membershipIntent.closingPause = Self.closingPauseSteps
        }
        let number = stance.number + 1
        let floor = newcomerFloor
        var membership = membership
        let closed = closing.map { SourceSequence(source: sources[$0].source, sequence: sources[$0].held) }
        membership.open.removeAll { member in closed.contains { $0.source == member.source } }
        membership.closed += closed
        // An earlier incarnation of a peer must be closed before a later one is admitted.
        var peerIDs = Set(membership.open.map(\.source.peerID))
        let newcomers = membershipIntent.newcomers.keys.sorted().filter { peerIDs.insert($0.peerID).inserted }
            .prefix(SessionMembership.openMax - membership.open.count)
        // A newcomer may join another group meanwhile, so the members that answered must stay a majority without
        // newcomers. One is always admitted: otherwise an absent member would keep a new device out.
        let silentCount = staying.count { $0 != 0 && !answers.contains($0) }
        let capacity = awaitsArrivals ? 0 : max(1, staying.count - 2 * silentCount - 1)
        if newcomers.count > capacity, closed.isEmpty {
            // Later answers may allow for more newcomers. This wait doesn't grow: a member with nothing to decide would
            // end the ballot first, each time.
            guard capacity > 0, silentCount == 0 || membershipIntent.age > MembershipIntent.patienceMin else {
                return nil
            }
        }
        membership.open += newcomers.prefix(capacity).map { .init(source: $0, floor: floor, joined: number) }
        membership.open.sort { $0.source < $1.source }
        membership.closed.sort { $0.source < $1.source }
        return SessionViewRecord(number: number, membership: membership)
    }

    private static var closingPauseSteps: Double { 20 }

    /// True while the group waits for newcomers of this view to report it, before it admits others.
    var awaitsArrivals: Bool {
        membershipIntent.arrivalPause > 0
            && openSlots.dropFirst().contains { slot in
                sources[slot].joinedView == stance.number && sources[slot].statement?.number != stance.number
            }
    }

    private static var arrivalPauseSteps: Double { 24 }

    private func isReady(toClose closing: [Int], _ staying: [Int], _ answers: [Int]) -> Bool {
        let named = closing.map { sources[$0].source }
        return staying.allSatisfy { slot in
            if slot == 0 { return true }
            guard answers.contains(slot), let change = sources[slot].statement?.change else { return false }
            return named.allSatisfy { change.quarantined.contains($0) }
        }
            && closing.allSatisfy { closed in
                let held = sources[closed].held
                return staying.allSatisfy { $0 == 0 || sources[$0].acknowledged(closed) == held }
            }
    }

    /// A stamp above everything that is confirmed in this view. A member's cut is at or below each member's promise,
    /// including this one's, and this one promises nothing above its frozen stamp. Others' promises don't matter: a
    /// newcomer's clock starts above the promise in its copy, and so above every promise that the copy's author has
    /// received.
    private var newcomerFloor: HybridTimestamp { (stance.change?.frozen.stamp ?? clock.latest).successor }

    /// The next view; nil until enough members of this one have accepted it under one ballot.
    private var decided: SessionViewRecord? {
        var votes: [ViewBallot: (record: SessionViewRecord, voters: [Int])] = [:]
        for slot in openSlots {
            guard let accepted = vote(of: slot) else { continue }
            votes[accepted.ballot, default: (accepted.record, [])].voters.append(slot)
        }
        return votes.first { isDecided(by: $0.value.voters, under: $0.key) }?.value.record
    }

    private func isDecided(by voters: [Int], under ballot: ViewBallot) -> Bool {
        if isMajority(voters.count) { return true }
        guard ballot.isForced, let change = stance.change, change.ballot == ballot, !change.closing.isEmpty else {
            return false
        }
        // Applies to any record, also one accepted earlier, so that none waits for members that the user has given up.
        return openSlots.allSatisfy { voters.contains($0) || change.closing.contains(sources[$0].source) }
    }

    func vote(of slot: Int) -> AcceptedView? {
        guard slot != 0 else { return stance.change?.accepted }
        guard let statement = sources[slot].statement, statement.number == stance.number else { return nil }
        return statement.change?.accepted
    }

    // MARK: - Installing

    private mutating func install(_ record: SessionViewRecord) {
        let number = record.number
        guard record.membership.open.contains(where: { $0.source == source }) else { return fence(by: number) }
        let isMine = stance.change?.accepted.map { $0.record == record && $0.ballot.proposer == source } ?? false
        if record.membership.open.map(\.source) != sources.openSources.sorted() {
            membershipIntent.adjustPatience(longer: false)
        }
        for closed in record.membership.closed {
            guard let slot = sources.slot(of: closed.source), !sources[slot].isClosed else { continue }
            // These differ only if a user elsewhere decided to continue without some of the members.
            if sources[slot].isOpen, sources[slot].held != closed.sequence { return fence(by: number) }
            gaps[slot] = nil
            sources.close(slot, after: closed.sequence)
        }
        for member in record.membership.open { open(member) }
        stance = ViewStatement(number: number, isLeaving: stance.isLeaving)
        setEpoch()
        membershipIntent.arrivalPause = Self.arrivalPauseSteps
        membershipIntent.removedByUser = membershipIntent.removedByUser.filter { removal in
            record.membership.open.contains { $0.source == removal.key }
        }
        membershipIntent.age = 0
        for member in record.membership.open {
            if membershipIntent.newcomers.removeValue(forKey: member.source) != nil, isMine {
                pending.copies.insert(member.source.peerID)
            }
        }
        forgetGapsOfOthers()
        forgetTokens()
        countForkedMembers()
        pending.changesMembership = true
        pending.isDigestDue = true
        advance()
    }

    private mutating func open(_ member: SessionMembership.Member) {
        guard let slot = try? slot(adding: member.source), !sources[slot].isOpen else { return }
        sources.open(slot, above: member.floor, since: member.joined ?? 0)
    }

    /// Sends a control to every other open member.
    mutating func notifyMembers() {
        pending.changesMembership = true
        for slot in openSlots.dropFirst() { pending.controls.insert(sources[slot].source.peerID) }
    }
}
