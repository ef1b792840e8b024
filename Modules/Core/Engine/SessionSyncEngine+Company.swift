import MeshIdentity

/// What one device wants of the group: whom to let in, whom to let go.
///
/// It is forgotten with the process, except for invitations: a peer that wants to join says so again, and a peer that is away is
/// found to be away again.
struct CompanyWishes: Sendable {
    /// Peers that may join.
    var invited: Set<String> = []
    /// Devices of this user, by the word of the link: they may join without an invitation.
    var own: Set<String> = []
    /// The groups in which peers say they are.
    var groups = PeerGroups()
    /// Peers that the caller has not heard of for long.
    var suspected: Set<String> = []
    /// Members that the user does not wait for, since when: one that says something after that is waited for again.
    var overridden: [SessionSource: HybridTimestamp] = [:]
    /// Sources that live and want to join, with the steps since they proved it.
    var newcomers: [SessionSource: Double] = [:]
    /// Steps for which there has been something to decide, since the last ballot.
    var age = 0.0
    /// Steps that those who stay are given to answer and to become equal: more from one attempt to the next, as it may be
    /// the network that takes so long.
    var patience = Self.patienceLeast
    /// Steps for which a member proposes no closing, after a proposal to close a member has failed.
    var closingPause = 0.0
    /// Steps that the newcomers of this view are given to answer, before others are admitted.
    var arrivalPause = 0.0
    /// A group of this session that an engine without one has heard of.
    var awaited: AwaitedGroup?
    /// What is missing of each source, and for how many steps.
    var lacking: [SessionSource: (held: UInt64, steps: Double)] = [:]

    var isEmpty: Bool { suspected.isEmpty && overridden.isEmpty && newcomers.isEmpty }

    /// Number of steps after which a newcomer that has not been heard again has gone.
    static let newcomerSteps = 30.0
    /// Number of exchanges without word of it after which a group that went on without this member is gone.
    static let homeExchanges = 60.0
    static let invitedMax = 64
    static let patienceLeast = 6.0
    static let patienceMost = 24.0

    mutating func wait(longer isLonger: Bool) {
        patience = isLonger ? min(2 * patience, Self.patienceMost) : Self.patienceLeast
    }
}

/// A newcomer gives the group that is there a while to let it in, before it founds another one.
struct AwaitedGroup: Sendable {
    let group: SessionSource
    /// Exchanges since it was heard of first, and last.
    var age = 0.0
    var silence = 0.0
    /// Whether this device has been told that the group has no place.
    var isFull = false
    /// Its members' peers, as they were named last, and when that was said.
    private var peerIDs: Set<String> = []
    private var saidAt = HybridTimestamp.zero

    init(_ group: SessionSource) { self.group = group }

    mutating func hear(of members: [SessionSource], saidAt: HybridTimestamp) {
        silence = 0
        guard saidAt >= self.saidAt else { return }
        self.saidAt = saidAt
        peerIDs = Set(members.map(\.peerID))
    }

    /// Whether it was of these two only, of which the one has said since that it is in another group: nobody of this one is
    /// left. What it had said before may come late, from a queue.
    func isLeft(by peerID: String, and localPeerID: String, at time: HybridTimestamp) -> Bool {
        saidAt < time && peerIDs.isSubset(of: [peerID, localPeerID])
    }

    /// One whose members do not invite it, or of which somebody only pretends that it exists.
    var isGivenUp: Bool { age > 60 || silence > 10 }

    mutating func age(by exchanges: Double) {
        age += exchanges
        silence += exchanges
    }
}

/// The groups in which peers say they are, each in its own controls.
struct PeerGroups: Sendable {
    struct Entry: Sendable {
        let source: SessionSource
        /// Whether that life of the peer was a member here.
        let isMember: Bool
        let group: SessionSource?
        /// The moment of the control, by its sender's clock.
        let saidAt: HybridTimestamp
        /// Exchanges since it first said so.
        var age = 0.0
        /// Exchanges since it last said so, less those for which it announced silence.
        var silence = 0.0
    }

    private var entries: [String: Entry] = [:]

    /// Number of exchanges after which a silent peer is forgotten.
    static let silenceMax = 60.0
    /// Number of exchanges for which members of another group are heard before the group of higher rank gives way.
    static let patience = 20.0
    static let countMax = 64

    subscript(_ peerID: String) -> Entry? { entries[peerID] }

    func peers(in group: SessionSource) -> [String: Entry] { entries.filter { $0.value.group == group } }

    mutating func forget(_ peerID: String) { entries[peerID] = nil }

    /// A control that comes late from a queue changes nothing. Stamps order the controls of one life of a peer; of two lives the
    /// one that is a member here counts.
    mutating func hear(
        _ control: SessionControl, of source: SessionSource, isMember: Bool, at saidAt: HybridTimestamp,
        silence: Double
    ) {
        let known = entries[source.peerID]
        if let known {
            guard known.source == source ? known.saidAt <= saidAt : isMember || !known.isMember else { return }
        } else if entries.count >= Self.countMax {
            return
        }
        let age = known?.group == control.group ? known?.age ?? 0 : 0
        entries[source.peerID] = Entry(
            source: source, isMember: isMember, group: control.group, saidAt: saidAt, age: age, silence: -silence)
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
    /// The number of the view in which this engine is: it counts the changes of membership of a group of two and more.
    public var view: UInt64 { stance.number }

    /// The members are about to decide on another view: until they have, nothing more is confirmed.
    public var isChangingView: Bool { stance.change != nil }

    /// Whether this device wants to leave, or has left.
    public var isLeaving: Bool { stance.isLeaving }

    /// Something is to be decided, and enough members are here for it.
    package var isViewWanted: Bool {
        sealed && (stance.change != nil || !wishes.newcomers.isEmpty || !closingSlots.isEmpty) && isMajorityHere
    }

    /// Peers that may join, beside those that were members once.
    public var invited: [String] { wishes.invited.sorted() }

    /// Lets a peer join this group. A former member may join without this. Maximum of 64 peers that wait.
    public mutating func invite(_ peerID: String) {
        guard wishes.invited.count < CompanyWishes.invitedMax else { return }
        if wishes.invited.insert(peerID).inserted { pending.changesMembership = true }
    }

    /// Takes back an invitation. A peer that has joined stays a member.
    package mutating func withdrawInvitation(of peerID: String) {
        if wishes.invited.remove(peerID) != nil { pending.changesMembership = true }
    }

    /// Says of which peers the caller has not heard for long; each time all of them. It decides when to try, never what is
    /// true: who is suspected is let go when a majority of the members is here and all that stay suspect it, too.
    public mutating func suspect(_ peerIDs: Set<String>) { wishes.suspected = peerIDs }

    /// The user's word that those peers are not waited for any more, even where no majority is here. Should they go on without
    /// this one as well, the order of one side is kept when they meet, and the taps of the other are issued again after it.
    public mutating func goOn(without peerIDs: Set<String>) {
        let unwanted = openSlots.dropFirst().filter { peerIDs.contains(sources[$0].source.peerID) }
        guard groupName != nil, sources[0].isOpen, !unwanted.isEmpty else { return }
        isReferenceOnly = false
        // A founder may not have heard yet that its partner has joined.
        if !sealed { seal() }
        for slot in unwanted { wishes.overridden[sources[slot].source] = clock.latest }
        prepare()
    }

    /// Leaves the group as soon as the others have agreed; `fenced` tells when.
    public mutating func leave() {
        guard !stance.isLeaving else { return }
        stance.isLeaving = true
        pending.changesMembership = true
        pending.isDigestDue = true
    }

    /// Says whether that peer is a device of this user. The user's own devices join as if this device had invited them. The
    /// caller asks the link each time, and at most 64 are remembered until the process ends.
    package mutating func regard(_ peerID: String, asOwn isOwn: Bool) {
        if !isOwn {
            guard wishes.own.remove(peerID) != nil else { return }
            wishes.groups.forget(peerID)
            if !mayJoin(peerID) { wishes.newcomers = wishes.newcomers.filter { $0.key.peerID != peerID } }
        } else if wishes.own.count < CompanyWishes.invitedMax {
            wishes.own.insert(peerID)
        }
    }

    /// The peers that the caller has said are this user's own.
    package var ownPeerIDs: Set<String> { wishes.own }

    /// Whether that peer may have a say in who joins: it asks to be the next to.
    func mayJoin(_ peerID: String) -> Bool {
        wishes.invited.contains(peerID) || wishes.own.contains(peerID) || hasClosedLife(peerID)
    }

    /// Whether this device believes what a peer that isn't a member says of the group's views. The user's own device loses that
    /// with its membership, because a user may have let it go for its lies; an invitation gives it back.
    func isTrusted(_ peerID: String) -> Bool {
        wishes.invited.contains(peerID) || wishes.own.contains(peerID) && !wasMember(peerID)
    }

    /// Whether it was a member here and is none now.
    func wasMember(_ peerID: String) -> Bool { !isMember(peerID) && hasClosedLife(peerID) }

    private func hasClosedLife(_ peerID: String) -> Bool {
        sources.records.contains { $0.isClosed && $0.source.peerID == peerID }
    }

    /// It waits to be taken in by the members of a group that exists, and founds none. Of a group that is not heard of any more
    /// it does not think for ever.
    var isJoining: Bool { !options.founds || waitsForHome || isAwaiting }

    private var isAwaiting: Bool { wishes.awaited.map { !$0.isGivenUp } ?? false }

    /// A newcomer hears that there is a group.
    mutating func hear(of group: SessionSource, in message: EngineMessage<State, Event>) {
        guard !sealed, groupName == nil else { return }
        if wishes.awaited == nil { wishes.awaited = AwaitedGroup(group) }
        guard wishes.awaited?.group == group else { return }
        wishes.awaited?.hear(of: message.control.members, saidAt: message.saidAt)
        let members = message.control.members
        if members.count >= SessionMembership.openMax, !members.contains(where: { $0.peerID == localPeerID }),
            wishes.awaited?.isFull == false
        {
            wishes.awaited?.isFull = true
            pending.raise(.notAdmitted(source))
        }
    }

    /// Whether that is a group of two which is being founded while another one is there.
    func isAboutToRival(_ message: EngineMessage<State, Event>) -> Bool {
        let control = message.control
        guard isAwaiting, let awaited = wishes.awaited, control.group != awaited.group, control.members.count <= 2,
            control.view?.number ?? 0 == 0
        else { return false }
        return !awaited.isLeft(by: message.source.peerID, and: localPeerID, at: message.saidAt)
    }

    /// It founds no other group until then.
    var waitsForHome: Bool { home != nil && homeSilence <= CompanyWishes.homeExchanges }

    /// Whether it takes a copy of that group from that peer. After a while it also takes one of another group than the one that it
    /// waits for, from a peer that it would let in: the members that are left of its own may be too few to let it in.
    func adopts(from group: SessionSource?, of peerID: String) -> Bool {
        home == group || !waitsForHome || homeWait > CompanyWishes.homeExchanges && mayJoin(peerID)
    }

    /// The source lives, and wants to be a member.
    mutating func wish(toAdmit slot: Int) {
        let source = sources[slot].source
        for other in wishes.newcomers.keys where other.peerID == source.peerID { wishes.newcomers[other] = nil }
        wishes.newcomers[source] = 0
    }

    /// Members that this one would let go now.
    var closingSlots: [Int] {
        if wishes.closingPause > 0, wishes.overridden.isEmpty { return [] }
        if wishes.isEmpty, !sources.records.contains(where: { $0.statement?.isLeaving == true }) { return [] }
        return openSlots.dropFirst().filter(isUnwanted)
    }

    private func isUnwanted(_ slot: Int) -> Bool {
        isGone(slot) || sources[slot].statement?.isLeaving == true && holdsAll(of: slot)
    }

    /// Whether the member is not heard any more, or lives on under another name. A user's word against a member also counts
    /// against the members that only that one vouches for, because it may have made them up.
    private func isGone(_ slot: Int) -> Bool {
        let source = sources[slot].source
        return wishes.suspected.contains(source.peerID) || wishes.overridden[source] != nil
            || wishes.newcomers.keys.contains { $0.peerID == source.peerID && $0 != source }
            || !wishes.overridden.isEmpty && !isVouched(slot, excluding: Set(wishes.overridden.keys))
    }

    /// Whoever leaves has said how far it has come, and is let go when that is here.
    private func holdsAll(of slot: Int) -> Bool { sources[slot].acknowledged(slot) <= sources[slot].held }

    /// Whether this member has nothing against letting that one go.
    func agrees(toClose closing: SessionSource, by change: ViewChange) -> Bool {
        guard closing != source else { return stance.isLeaving }
        guard let slot = sources.slot(of: closing), sources[slot].isOpen else { return true }
        return isUnwanted(slot) || stance.change?.quarantined.contains(closing) == true
            || change.ballot.isForced && !isVouched(slot, excluding: Set(change.closing))
    }

    var openSlots: [Int] { sources.indices.filter { sources[$0].isOpen } }

    /// Members that are expected to answer: whoever is here, also when it wants to leave.
    private var isMajorityHere: Bool {
        let present = openSlots.count { slot in
            slot == 0 || !wishes.suspected.contains(sources[slot].source.peerID)
        }
        return present * 2 > openSlots.count || !wishes.overridden.isEmpty
    }

    /// Whether a majority answers this member itself. Where all members are connected through one, only that one's ballots can
    /// succeed.
    private var hearsMajority: Bool {
        isMajority(openSlots.count { $0 == 0 || isInReach($0) })
    }

    /// How many members begin before this one does.
    private var rank: Int {
        if stance.isLeaving || !hearsMajority { return openSlots.count }
        return openSlots.count { slot in
            slot != 0 && !isUnwanted(slot) && sources[slot].source < source
        }
    }

    /// Lets time pass: begins what is to be decided, or takes over what has been under way for long.
    ///
    /// Waiting counts in exchanges, a second each, and deciding in steps of a quarter of that: how often members that have
    /// something to say do so, and how often those do that miss something.
    mutating func pass(_ milliseconds: UInt64) {
        let exchanges = Double(milliseconds) / Double(options.exchangeMilliseconds)
        homeSilence += exchanges
        homeWait += exchanges
        wishes.awaited?.age(by: exchanges)
        wishes.groups.age(by: exchanges)
        for slot in sources.indices.dropFirst() { sources[slot].report.age(by: exchanges) }
        guard sealed, sources[0].isOpen else { return }
        let steps = Double(milliseconds) / Double(options.stepMilliseconds)
        wishes.closingPause -= min(steps, wishes.closingPause)
        wishes.arrivalPause -= min(steps, wishes.arrivalPause)
        for (source, age) in wishes.newcomers {
            wishes.newcomers[source] = age < CompanyWishes.newcomerSteps ? age + steps : nil
        }
        askForRelays(after: steps)
        let isWanted =
            !closingSlots.isEmpty || !awaitsArrivals && wishes.newcomers.keys.contains { mayJoinNow($0.peerID) }
        guard isWanted || stance.change != nil else {
            wishes.age = 0
            return
        }
        wishes.age += steps
        guard isMajorityHere else { return }
        guard knowViews() else { return }
        advanceChange()
        guard wishes.age > stepsBeforePreparing, stance.change != nil || isWanted else { return }
        if stance.change?.ballot.proposer == source { wishes.wait(longer: true) }
        prepare()
    }

    private var stepsBeforePreparing: Double {
        guard let ballot = stance.change?.ballot else { return Double(3 * rank) }
        if ballot.proposer == source, hearsMajority { return ballotSteps }
        // Where the user has a word, no majority is to be expected.
        if !wishes.overridden.isEmpty, !ballot.isForced { return 2 }
        return ballotSteps + Double(4 * (rank + 1))
    }

    /// Whether there is room, and no earlier life of it has to go first.
    private func mayJoinNow(_ peerID: String) -> Bool {
        sources.openSlot(ofPeer: peerID) == nil && openSlots.count < SessionMembership.openMax
    }

    /// Steps after which a ballot that has come to nothing is followed by another.
    private var ballotSteps: Double { wishes.patience + 2 }

    /// Whether all members speak of views; those of earlier versions would go on in an old one.
    private mutating func knowViews() -> Bool {
        let silent = openSlots.filter { slot in
            sources[slot].knowsNoViews && !isUnwanted(slot)
        }
        guard !silent.isEmpty else { return true }
        pending.raise(.cannotChangeView(silent.map { sources[$0].source }))
        return false
    }
}
