import MeshIdentity

// Membership changes (rules 19 to 21 of Docs/Internals/Convergence.md). `SessionSyncEngine+Views` decides them.
// - Newcomer: a source that wants to join and has proved that it lives.
// - Suspected: not heard from for a long time. Removed by user: the user doesn't wait for this member any more.
// - Group to rejoin: the group that has continued without this source.
// - Exchange and step: the units of waiting times, see `pass(_:)`.

/// Membership changes that this device wants: the peers to admit and the members to close.
///
/// Only invitations are persisted. A peer that wants to join asks again, and an absent peer is suspected again.
struct MembershipIntent: Sendable {
    /// Peers that the user has invited.
    var invited: Set<String> = []
    /// Devices of this user, as the link reports them. They may join without an invitation.
    var own: Set<String> = []
    /// The group that each peer reports to be in.
    var groups = PeerGroups()
    /// Peers that the caller hasn't heard from for a long time.
    var suspected: Set<String> = []
    /// Members that the user no longer waits for, and since when. A later message from the member ends that.
    var removedByUser: [SessionSource: HybridTimestamp] = [:]
    /// Sources that want to join and have proved that they live, with the steps since the proof.
    var newcomers: [SessionSource: Double] = [:]
    /// Number of steps since the last ballot during which there was something to decide.
    var age = 0.0
    /// Steps to wait until staying members have answered and hold the same events. Grows with each attempt, for slow
    /// networks.
    var patience = Self.patienceMin
    /// Steps left during which this member proposes no closing, because such a proposal has failed.
    var closingPause = 0.0
    /// Steps left for the newcomers of this view to report it before others are admitted.
    var arrivalPause = 0.0
    /// A group of this session that this engine heard of while it was in none.
    var awaited: AwaitedGroup?
    /// For each source of which others hold more: the sequence held here, and the steps since it last changed.
    var missingEvents: [SessionSource: (held: UInt64, steps: Double)] = [:]

    var isEmpty: Bool { suspected.isEmpty && removedByUser.isEmpty && newcomers.isEmpty }

    /// Number of steps after which a newcomer that hasn't been heard again counts as gone.
    static let newcomerSteps = 30.0
    /// Number of exchanges without a message after which a group that continued without this member counts as gone.
    static let rejoinExchanges = 60.0
    static let invitedMax = 64
    static let patienceMin = 6.0
    static let patienceMax = 24.0

    mutating func adjustPatience(longer isLonger: Bool) {
        patience = isLonger ? min(2 * patience, Self.patienceMax) : Self.patienceMin
    }
}

/// The existing group that a newcomer waits for. It founds another one only after a while.
struct AwaitedGroup: Sendable {
    let group: SessionSource
    /// Exchanges since this engine first heard of the group, and since it last did.
    var age = 0.0
    var silence = 0.0
    /// True once this device has raised the alarm that the group is full.
    var isFull = false
    /// The peers of the group's members as last reported, and the stamp of that report.
    private var peerIDs: Set<String> = []
    private var reportStamp = HybridTimestamp.zero

    init(_ group: SessionSource) { self.group = group }

    mutating func recordMembers(_ members: [SessionSource], at stamp: HybridTimestamp) {
        silence = 0
        guard stamp >= reportStamp else { return }
        reportStamp = stamp
        peerIDs = Set(members.map(\.peerID))
    }

    /// True if the group had only these two peers and `peerID` has since reported another group, so no member is left.
    /// A message from before the latest report doesn't count: it may have waited in a queue.
    func isAbandoned(by peerID: String, and localPeerID: String, at time: HybridTimestamp) -> Bool {
        reportStamp < time && peerIDs.isSubset(of: [peerID, localPeerID])
    }

    /// True if the wait is over. Perhaps the members don't invite this device, or a peer has invented the group.
    var isExpired: Bool { age > 60 || silence > 10 }

    mutating func age(by exchanges: Double) {
        age += exchanges
        silence += exchanges
    }
}

/// The group that each peer reports to be in, in its own controls.
struct PeerGroups: Sendable {
    struct Entry: Sendable {
        let source: SessionSource
        /// True if that incarnation of the peer was a member here.
        let isMember: Bool
        let group: SessionSource?
        /// The stamp of the control, by its sender's clock.
        let stamp: HybridTimestamp
        /// Exchanges since the peer first reported this group.
        var age = 0.0
        /// Exchanges since the peer's last report, less the silence that it announced; so it may be negative.
        var silence = 0.0
    }

    private var entries: [String: Entry] = [:]

    /// Number of exchanges after which a silent peer is forgotten.
    static let silenceMax = 60.0
    /// Number of exchanges for which another group's members must be heard before the group of higher rank gives way.
    static let patience = 20.0
    static let countMax = 64

    subscript(_ peerID: String) -> Entry? { entries[peerID] }

    func peers(in group: SessionSource) -> [String: Entry] { entries.filter { $0.value.group == group } }

    mutating func forget(_ peerID: String) { entries[peerID] = nil }

    /// Takes a peer's report, unless it is outdated. Stamps order the controls of one incarnation. Of two incarnations,
    /// one that is a member here counts before one that isn't.
    mutating func record(
        _ control: SessionControl, of source: SessionSource, isMember: Bool, at stamp: HybridTimestamp,
        silence: Double
    ) {
        let known = entries[source.peerID]
        if let known {
            guard known.source == source ? known.stamp <= stamp : isMember || !known.isMember else { return }
        } else if entries.count >= Self.countMax {
            return
        }
        let age = known?.group == control.group ? known?.age ?? 0 : 0
        entries[source.peerID] = Entry(
            source: source, isMember: isMember, group: control.group, stamp: stamp, age: age, silence: -silence)
    }

    mutating func age(by exchanges: Double) {
        for (peerID, var entry) in entries {
            entry.age += exchanges
            entry.silence += exchanges
            entries[peerID] = entry.silence <= Self.silenceMax ? entry : nil
        }
    }
}

extension SessionSyncEngine {
    /// The number of this engine's view. The group's first view is 0.
    public var view: UInt64 { stance.number }

    /// True while the members decide on another view. Nothing new is confirmed meanwhile.
    public var isChangingView: Bool { stance.change != nil }

    /// True if this device wants to leave, or has left.
    public var isLeaving: Bool { stance.isLeaving }

    /// True if there is a membership change to decide, and if this device can decide: a majority isn't suspected, or
    /// its user has decided.
    package var isViewWanted: Bool {
        sealed && (stance.change != nil || !membershipIntent.newcomers.isEmpty || !closingSlots.isEmpty)
            && isDecisionPossible
    }

    /// The peers that the user has invited to join, sorted. Former members may join without an invitation.
    public var invited: [String] { membershipIntent.invited.sorted() }

    /// Invites a peer to join this group. Ignored if 64 peers are invited already. A former member needs no invitation.
    public mutating func invite(_ peerID: String) {
        guard membershipIntent.invited.count < MembershipIntent.invitedMax else { return }
        if membershipIntent.invited.insert(peerID).inserted { pending.changesMembership = true }
    }

    /// Withdraws an invitation. A peer that has joined stays a member.
    package mutating func withdrawInvitation(of peerID: String) {
        if membershipIntent.invited.remove(peerID) != nil { pending.changesMembership = true }
    }

    /// Reports all peers that the caller hasn't heard from for a long time; replaces the earlier set. Suspicion alone
    /// closes no member: a majority must be in reach, and all members that stay must agree.
    public mutating func suspect(_ peerIDs: Set<String>) { membershipIntent.suspected = peerIDs }

    /// Removes members by the user's decision, even without a majority. They may remove this one too. When both sides
    /// meet, one side keeps its order, and the other side's events are issued again after it.
    public mutating func removeMembers(_ peerIDs: Set<String>) {
        let removed = openSlots.dropFirst().filter { peerIDs.contains(sources[$0].source.peerID) }
        guard groupName != nil, sources[0].isOpen, !removed.isEmpty else { return }
        isReferenceOnly = false
        // A founder may not know yet that its partner has joined.
        if !sealed { seal() }
        for slot in removed { membershipIntent.removedByUser[sources[slot].source] = clock.latest }
        prepare()
    }

    /// Asks to leave the group. Once the others have agreed, `SessionAlarm.fenced` is raised.
    public mutating func leave() {
        guard !stance.isLeaving else { return }
        stance.isLeaving = true
        pending.changesMembership = true
        pending.isDigestDue = true
    }

    /// Records whether a peer is a device of this user. Own devices join as if invited. The caller asks the link before
    /// each message of the peer. At most 64 are remembered, until the process ends.
    package mutating func setPeer(_ peerID: String, isOwnDevice isOwn: Bool) {
        if !isOwn {
            guard membershipIntent.own.remove(peerID) != nil else { return }
            membershipIntent.groups.forget(peerID)
            if !mayJoin(peerID) {
                membershipIntent.newcomers = membershipIntent.newcomers.filter { $0.key.peerID != peerID }
            }
        } else if membershipIntent.own.count < MembershipIntent.invitedMax {
            membershipIntent.own.insert(peerID)
        }
    }

    /// The peers that the caller has reported as this user's own devices.
    package var ownPeerIDs: Set<String> { membershipIntent.own }

    /// True if that peer may join: it is invited, this user's own device, or a former member.
    func mayJoin(_ peerID: String) -> Bool {
        membershipIntent.invited.contains(peerID) || membershipIntent.own.contains(peerID)
            || hasClosedIncarnation(peerID)
    }

    /// True if this device believes what a peer that isn't a member reports of the group's views. A device of this user
    /// loses that trust when it is closed, because a user may have removed it for lying. An invitation restores it.
    func isTrusted(_ peerID: String) -> Bool {
        membershipIntent.invited.contains(peerID) || membershipIntent.own.contains(peerID) && !wasMember(peerID)
    }

    /// True if that peer was a member here and no longer is.
    func wasMember(_ peerID: String) -> Bool { !isMember(peerID) && hasClosedIncarnation(peerID) }

    private func hasClosedIncarnation(_ peerID: String) -> Bool {
        sources.records.contains { $0.isClosed && $0.source.peerID == peerID }
    }

    /// True while this engine waits to be admitted to an existing group, and so founds none. It stops waiting for a
    /// silent group.
    var isJoining: Bool { !options.founds || isWaitingToRejoin || isAwaiting }

    private var isAwaiting: Bool { membershipIntent.awaited.map { !$0.isExpired } ?? false }

    /// Records a group that this engine hears of while it is in none.
    mutating func noteGroup(_ group: SessionSource, in message: EngineMessage<State, Event>) {
        guard !sealed, groupName == nil else { return }
        if membershipIntent.awaited == nil { membershipIntent.awaited = AwaitedGroup(group) }
        guard membershipIntent.awaited?.group == group else { return }
        membershipIntent.awaited?.recordMembers(message.control.members, at: message.stamp)
        let members = message.control.members
        if members.count >= SessionMembership.openMax, !members.contains(where: { $0.peerID == localPeerID }),
            membershipIntent.awaited?.isFull == false
        {
            membershipIntent.awaited?.isFull = true
            pending.raise(.notAdmitted(source))
        }
    }

    /// True if the sender is founding a group of two while this engine still waits for an existing one.
    func isFoundingRivalGroup(_ message: EngineMessage<State, Event>) -> Bool {
        let control = message.control
        guard isAwaiting, let awaited = membershipIntent.awaited, control.group != awaited.group,
            control.members.count <= 2,
            control.view?.number ?? 0 == 0
        else { return false }
        return !awaited.isAbandoned(by: message.source.peerID, and: localPeerID, at: message.stamp)
    }

    /// True while this engine waits for the group that continued without it, and so founds no other.
    var isWaitingToRejoin: Bool { groupToRejoin != nil && rejoinSilence <= MembershipIntent.rejoinExchanges }

    /// True if this engine adopts a copy of that group from that peer. After `rejoinExchanges` it also takes another
    /// group's copy from a peer that it would admit: its own group may have too few members left to admit it.
    func adopts(from group: SessionSource?, of peerID: String) -> Bool {
        groupToRejoin == group || !isWaitingToRejoin || rejoinWait > MembershipIntent.rejoinExchanges && mayJoin(peerID)
    }

    /// Records that the source wants to be a member. It supersedes other incarnations of its peer.
    mutating func addNewcomer(at slot: Int) {
        let source = sources[slot].source
        for other in membershipIntent.newcomers.keys where other.peerID == source.peerID {
            membershipIntent.newcomers[other] = nil
        }
        membershipIntent.newcomers[source] = 0
    }

    /// The slots of members that this one would close now.
    var closingSlots: [Int] {
        if membershipIntent.closingPause > 0, membershipIntent.removedByUser.isEmpty { return [] }
        if membershipIntent.isEmpty, !sources.records.contains(where: { $0.statement?.isLeaving == true }) { return [] }
        return openSlots.dropFirst().filter(shouldClose)
    }

    private func shouldClose(_ slot: Int) -> Bool {
        isGone(slot) || sources[slot].statement?.isLeaving == true && holdsAll(of: slot)
    }

    /// True if the member is suspected, removed by the user, or has a living successor. If the user removes a member,
    /// members that only it reports are gone too, because it may have invented them.
    private func isGone(_ slot: Int) -> Bool {
        let source = sources[slot].source
        return membershipIntent.suspected.contains(source.peerID) || membershipIntent.removedByUser[source] != nil
            || membershipIntent.newcomers.keys.contains { $0.peerID == source.peerID && $0 != source }
            || !membershipIntent.removedByUser.isEmpty
                && !isCorroborated(slot, excluding: Set(membershipIntent.removedByUser.keys))
    }

    /// True if this member holds every event that a leaving member reports to have written.
    private func holdsAll(of slot: Int) -> Bool { sources[slot].acknowledged(slot) <= sources[slot].held }

    /// True if this member agrees to the ballot's closing of `closing`.
    func agrees(toClose closing: SessionSource, by change: ViewChange) -> Bool {
        guard closing != source else { return stance.isLeaving }
        guard let slot = sources.slot(of: closing), sources[slot].isOpen else { return true }
        return shouldClose(slot) || stance.change?.quarantined.contains(closing) == true
            || change.ballot.isForced && !isCorroborated(slot, excluding: Set(change.closing))
    }

    var openSlots: [Int] { sources.indices.filter { sources[$0].isOpen } }

    /// True if the members that aren't suspected, leaving ones included, are a majority, or if the user has decided.
    private var isDecisionPossible: Bool {
        let present = openSlots.count { slot in
            slot == 0 || !membershipIntent.suspected.contains(sources[slot].source.peerID)
        }
        return present * 2 > openSlots.count || !membershipIntent.removedByUser.isEmpty
    }

    /// True if this member hears a majority directly. If all members connect through one, only that one's ballots
    /// succeed.
    private var hasMajorityInReach: Bool {
        isMajority(openSlots.count { $0 == 0 || isInReach($0) })
    }

    /// The number of members that start a ballot before this one.
    private var rank: Int {
        if stance.isLeaving || !hasMajorityInReach { return openSlots.count }
        return openSlots.count { slot in
            slot != 0 && !shouldClose(slot) && sources[slot].source < source
        }
    }

    /// Advances time. Starts a ballot if there is something to decide, or if the present one has taken too long.
    ///
    /// Waiting is counted in exchanges: the time between two controls of a member with news, by default a second.
    /// Deciding is counted in steps: the time between two controls of a member that lacks events, by default a quarter
    /// of a second.
    mutating func pass(_ milliseconds: UInt64) {
        let exchanges = Double(milliseconds) / Double(options.exchangeMilliseconds)
        rejoinSilence += exchanges
        rejoinWait += exchanges
        membershipIntent.awaited?.age(by: exchanges)
        membershipIntent.groups.age(by: exchanges)
        for slot in sources.indices.dropFirst() { sources[slot].report.age(by: exchanges) }
        guard sealed, sources[0].isOpen else { return }
        let steps = Double(milliseconds) / Double(options.stepMilliseconds)
        membershipIntent.closingPause -= min(steps, membershipIntent.closingPause)
        membershipIntent.arrivalPause -= min(steps, membershipIntent.arrivalPause)
        for (source, age) in membershipIntent.newcomers {
            membershipIntent.newcomers[source] = age < MembershipIntent.newcomerSteps ? age + steps : nil
        }
        askForRelays(after: steps)
        let isWanted =
            !closingSlots.isEmpty
            || !awaitsArrivals && membershipIntent.newcomers.keys.contains { mayJoinNow($0.peerID) }
        guard isWanted || stance.change != nil else {
            membershipIntent.age = 0
            return
        }
        membershipIntent.age += steps
        guard isDecisionPossible else { return }
        guard checkMembersKnowViews() else { return }
        advanceChange()
        guard membershipIntent.age > stepsBeforePreparing, stance.change != nil || isWanted else { return }
        if stance.change?.ballot.proposer == source { membershipIntent.adjustPatience(longer: true) }
        prepare()
    }

    private var stepsBeforePreparing: Double {
        guard let ballot = stance.change?.ballot else { return Double(3 * rank) }
        if ballot.proposer == source, hasMajorityInReach { return ballotSteps }
        // A user's decision replaces the majority, so there is none to wait for.
        if !membershipIntent.removedByUser.isEmpty, !ballot.isForced { return 2 }
        return ballotSteps + Double(4 * (rank + 1))
    }

    /// True if the group has space and no other incarnation of the peer must be closed first.
    private func mayJoinNow(_ peerID: String) -> Bool {
        sources.openSlot(ofPeer: peerID) == nil && openSlots.count < SessionMembership.openMax
    }

    /// Number of steps after which an unsuccessful ballot is followed by another.
    private var ballotSteps: Double { membershipIntent.patience + 2 }

    /// True if all members' versions know views. Raises an alarm for those that don't, because they would stay in an
    /// old view.
    private mutating func checkMembersKnowViews() -> Bool {
        let silent = openSlots.filter { slot in
            sources[slot].knowsNoViews && !shouldClose(slot)
        }
        guard !silent.isEmpty else { return true }
        pending.raise(.cannotChangeView(silent.map { sources[$0].source }))
        return false
    }
}
