package import MeshIdentity

/// A view of a group: its current members. The members of one view decide on the next.
///
/// Holds the complete membership, so a member that missed several views installs the newest directly.
public struct SessionViewRecord: Hashable, Sendable, Codable {
    /// The number of the view; 0 is the view in which the group was founded.
    package var number: UInt64
    /// The members of the view.
    package var membership: SessionMembership

    /// Maximum number of views in a session, because a 32-bit epoch must tell them apart.
    package static let numberMax: UInt64 = 1 << 31
    /// Maximum number of views, or of ballot rounds, that a member's message may skip at once.
    package static let stepMax: UInt64 = 1 << 16

    /// Creates a view. The engine that receives it checks it.
    package init(number: UInt64, membership: SessionMembership) {
        self.number = number
        self.membership = membership
    }
}

/// An attempt at the next view, ordered by round, then by proposer.
public struct ViewBallot: Hashable, Sendable, Codable, Comparable {
    /// The round of the ballot. A higher round takes precedence.
    package var round: UInt64
    /// The member that makes the attempt.
    package var proposer: SessionSource
    /// True if the proposer's user has decided. Then all members that stay must agree, instead of a majority.
    package var isForced: Bool { byUser == true }
    private var byUser: Bool?

    /// Creates an attempt by one member, forced if its user has decided.
    package init(round: UInt64, proposer: SessionSource, isForced: Bool = false) {
        self.round = round
        self.proposer = proposer
        byUser = isForced ? true : nil
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.round, left.proposer) < (right.round, right.proposer)
    }
}

/// A next view that a member has accepted.
public struct AcceptedView: Hashable, Sendable, Codable {
    /// The highest ballot under which the member accepted it.
    package var ballot: ViewBallot
    /// The accepted view.
    package var record: SessionViewRecord

    /// Creates a view accepted under one ballot.
    package init(ballot: ViewBallot, record: SessionViewRecord) {
        self.ballot = ballot
        self.record = record
    }
}

/// A member's position on the way from one view to the next. Persisted until the next view is installed.
public struct ViewChange: Hashable, Sendable, Codable {
    /// The highest ballot that the member has promised.
    package var ballot: ViewBallot
    /// The member's last promise until it is in another view.
    package var frozen: SequencePromise
    /// Sources of which the member takes only events that staying members already hold.
    package var quarantined: [SessionSource] = []
    /// The sources that this ballot would close. Failed earlier ballots may have quarantined others.
    package var closing: [SessionSource] = []
    /// The view that the member has accepted; nil before that.
    package var accepted: AcceptedView?

    /// Creates a promise to a ballot, with no source quarantined.
    package init(ballot: ViewBallot, frozen: SequencePromise) {
        self.ballot = ballot
        self.frozen = frozen
    }
}

/// The position of a member between two views. Each of its controls carries it.
public struct ViewStatement: Hashable, Sendable, Codable {
    /// The number of the member's view.
    package var number: UInt64
    /// The change that is under way; nil if there is none.
    package var change: ViewChange?
    /// True if the member wants to leave.
    package var isLeaving: Bool

    /// Creates a statement; by default for the first view, without a change.
    package init(number: UInt64 = 0, change: ViewChange? = nil, isLeaving: Bool = false) {
        self.number = number
        self.change = change
        self.isLeaving = isLeaving
    }

    /// Merges another statement of the same author, unless it is of an earlier view. Statements of one view may arrive
    /// in any order, and each adds to the others.
    mutating func merge(_ other: ViewStatement) {
        guard other.number == number else {
            if other.number > number { self = other }
            return
        }
        isLeaving = isLeaving || other.isLeaving
        guard let theirs = other.change else { return }
        guard var known = change else {
            change = theirs
            return
        }
        if known.ballot < theirs.ballot { (known.ballot, known.closing) = (theirs.ballot, theirs.closing) }
        known.quarantined += theirs.quarantined.filter { !known.quarantined.contains($0) }
        if let accepted = theirs.accepted, known.accepted.map({ $0.ballot < accepted.ballot }) ?? true {
            known.accepted = accepted
        }
        change = known
    }
}

/// Events of other members that a member relays. It vouches that their authors wrote them.
public struct SessionRelay<Event: Codable & Sendable>: Sendable, Codable {
    /// `SessionSyncMetadata.payloadType` of the envelopes that carry relays.
    package static var payloadType: String { "sessionmesh.relay" }

    /// Events of one or more sources, in the order of each source's sequence.
    package var records: [SessionRecord<Event>]

    /// Creates a relay of events, in the order of each source's sequence.
    package init(_ records: [SessionRecord<Event>]) { self.records = records }
}

/// The group's members as one source reports them in its own controls.
struct MemberReport: Sendable {
    /// The number of the latest view that the source has reported; `members` are that view's.
    private var number: UInt64 = 0
    private(set) var members: [SessionSource] = []
    /// The members that the source reports to have heard directly.
    private(set) var heard: Set<SessionSource> = []
    /// Exchanges for which the source has reported these members.
    private(set) var age = 0.0
    /// Exchanges since the source's last control, less the silence that it announced.
    private(set) var silence = 0.0

    /// Number of exchanges after which a silent member is out of reach, and after which an unchanged report may
    /// be followed without a majority in reach.
    static let exchangesMax = 60.0

    mutating func take(_ control: SessionControl, silence announced: Double) {
        silence = -announced
        let reported = control.view?.number ?? 0
        guard reported >= number, control.members.count <= SessionMembership.openMax else { return }
        if control.members != members { age = 0 }
        (number, members) = (reported, control.members)
        heard.formUnion(control.clockEchoes.map(\.source))
        heard.formIntersection(members)
    }

    mutating func age(by exchanges: Double) {
        age += exchanges
        silence += exchanges
    }
}

/// Additions by majority (rule 24 of Docs/Internals/Convergence.md): a member that took no part in deciding a view
/// follows it only once a majority of the members in reach report it.
///
/// Otherwise one member could add members that don't exist, and the group would wait for them forever. Not following is
/// safe: it is as if the member hadn't heard of the view yet.
extension SessionSyncEngine {
    /// Records a source's report of the members. A member's next incarnation reports in its place, and a trusted peer
    /// reports too: either may be the only one left that knows the view.
    mutating func recordReport(_ message: EngineMessage<State, Event>, of slot: Int) {
        guard message.control.group == groupName else { return }
        let peerID = message.source.peerID
        guard let witness = sources.openSlot(ofPeer: peerID) ?? (isTrusted(peerID) ? slot : nil) else {
            return
        }
        sources[witness].report.take(message.control, silence: exchanges(message.control.silence))
    }

    /// Exchanges for which a member has announced that it will be silent.
    func exchanges(_ silence: UInt64?) -> Double {
        Double(min(silence ?? 0, SessionControl.silenceMax)) / Double(options.exchangeMilliseconds)
    }

    /// True if this member installs a reported view: it has accepted the additions, or a majority of those in reach
    /// report them. It doesn't count itself, so it follows the only other member in reach.
    func mayInstall(_ record: SessionViewRecord) -> Bool {
        let change = stance.change
        let accepted = change?.accepted?.record.membership.open.map(\.source) ?? []
        let added = record.membership.open.map(\.source).filter { source in
            !accepted.contains(source) && sources.slot(of: source).map { !sources[$0].isOpen } ?? true
        }
        if added.isEmpty { return true }
        let inReach = sources.indices.dropFirst().filter { isWitness($0) && isInReach($0) }
        let reporters = inReach.filter { Set(sources[$0].report.members).isSuperset(of: added) }
        if 2 * reporters.count > inReach.count { return true }
        // Members that heard of the view from the same member would wait for each other, if the rest of its electorate
        // is gone. They follow after a while, once the members that may have decided it are a majority.
        guard reporters.contains(where: { sources[$0].report.age > MemberReport.exchangesMax }) else { return false }
        let deciders = openSlots.filter { reporters.contains($0) || !isInReach($0) || vote(of: $0) != nil }
        return isMajority(deciders.count)
    }

    private func isWitness(_ slot: Int) -> Bool {
        sources[slot].isOpen || !sources[slot].isClosed && !sources[slot].report.members.isEmpty
    }

    func isInReach(_ slot: Int) -> Bool {
        !membershipIntent.suspected.contains(sources[slot].source.peerID)
            && sources[slot].report.silence <= MemberReport.exchangesMax
    }

    /// True if this member has heard that one, or another member that isn't excluded reports to have heard it.
    func isCorroborated(_ slot: Int, excluding excluded: Set<SessionSource>) -> Bool {
        let source = sources[slot].source
        return sources[slot].lastHeard != nil || !sources[slot].acknowledged.isEmpty
            || openSlots.dropFirst().contains { other in
                !excluded.contains(sources[other].source) && sources[other].report.heard.contains(source)
            }
    }
}
