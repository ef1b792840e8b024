package import MeshIdentity

/// A view of a group: who is in it for the time being. The members of one view decide on the next.
///
/// It holds the whole membership, so that a member that slept through several views installs the newest one.
public struct SessionViewRecord: Hashable, Sendable, Codable {
    /// 0 is the view in which the group was founded.
    package var number: UInt64
    /// Who is in it.
    package var membership: SessionMembership

    /// How many views a session has at most: an epoch names one of them.
    package static let numberMax: UInt64 = 1 << 31
    /// How many of them, or rounds of ballots, a member's word skips at once.
    package static let stepMax: UInt64 = 1 << 16

    /// A view of that number. Nothing is checked here, but when an engine takes it.
    package init(number: UInt64, membership: SessionMembership) {
        self.number = number
        self.membership = membership
    }
}

/// An attempt at the next view. Ordered by round, then by who makes it.
public struct ViewBallot: Hashable, Sendable, Codable, Comparable {
    /// Ballots of a higher round go before those of a lower one.
    package var round: UInt64
    /// The member that makes the attempt.
    package var proposer: SessionSource
    /// The word of the proposer's user, which stands for a majority: it is enough that all that stay agree.
    package var isForced: Bool { byUser == true }
    private var byUser: Bool?

    /// An attempt by one member; forced where its user has said so.
    package init(round: UInt64, proposer: SessionSource, isForced: Bool = false) {
        self.round = round
        self.proposer = proposer
        byUser = isForced ? true : nil
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.round, left.proposer) < (right.round, right.proposer)
    }
}

/// A next view, and the highest ballot under which a member has accepted it.
public struct AcceptedView: Hashable, Sendable, Codable {
    /// The highest ballot under which it was accepted.
    package var ballot: ViewBallot
    /// The view that was accepted.
    package var record: SessionViewRecord

    /// A view accepted under one ballot.
    package init(ballot: ViewBallot, record: SessionViewRecord) {
        self.ballot = ballot
        self.record = record
    }
}

/// The messages of a member on its way from one view to the next. It outlives the process, and is forgotten with the
/// view.
public struct ViewChange: Hashable, Sendable, Codable {
    /// The highest ballot that the member has promised.
    package var ballot: ViewBallot
    /// Until it is in another view, the member promises nothing beyond this.
    package var frozen: SequencePromise
    /// Of these it takes no more events, but those that members who are to stay hold already.
    package var quarantined: [SessionSource] = []
    /// Whom that ballot would close. Others may be quarantined for the sake of earlier ones, which came to nothing.
    package var closing: [SessionSource] = []
    /// What the member has accepted; nil before that.
    package var accepted: AcceptedView?

    /// A promise to a ballot, with nobody quarantined.
    package init(ballot: ViewBallot, frozen: SequencePromise) {
        self.ballot = ballot
        self.frozen = frozen
    }
}

/// The position of a member between two views, which each of its controls carries.
public struct ViewStatement: Hashable, Sendable, Codable {
    /// The view in which the member is.
    package var number: UInt64
    /// nil while nobody wants another view.
    package var change: ViewChange?
    /// It wants to leave.
    package var isLeaving: Bool

    /// The first view, with no change under way, unless told otherwise.
    package init(number: UInt64 = 0, change: ViewChange? = nil, isLeaving: Bool = false) {
        self.number = number
        self.change = change
        self.isLeaving = isLeaving
    }

    /// Statements may overtake each other; each adds to what its author has said before.
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

/// Events of other members that a member hands on, as events of theirs: it vouches for them.
public struct SessionRelay<Event: Codable & Sendable>: Sendable, Codable {
    /// `SessionSyncMetadata.payloadType` of the envelopes that carry relays.
    package static var payloadType: String { "sessionmesh.relay" }

    /// Of one or several sources, in order.
    package var records: [SessionRecord<Event>]

    /// Events to hand on, in the order of each source's sequence.
    package init(_ records: [SessionRecord<Event>]) { self.records = records }
}

/// The members of the group as one of them reports them in its own controls.
struct MemberReport: Sendable {
    /// The latest view that it has reported, and the members of that view.
    private var number: UInt64 = 0
    private(set) var members: [SessionSource] = []
    /// The members that it says it has heard itself.
    private(set) var heard: Set<SessionSource> = []
    /// Exchanges for which it has reported these members.
    private(set) var age = 0.0
    /// Exchanges since its last control, less those for which it announced silence.
    private(set) var silence = 0.0

    /// Number of exchanges after which a silent member is out of reach, and after which a report that the others can't
    /// contradict is followed.
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

/// Additions by majority (rule 24 of Docs/Internals/Convergence.md): a member that did not take part in deciding a view follows it only
/// when a majority of the members in reach report it.
///
/// Otherwise one member could add members that don't exist, and the group would wait for them for ever. Waiting is safe: a
/// member that waits is like one that has not heard of the view yet.
extension SessionSyncEngine {
    /// Takes what a source says of the members. The next life of a member reports for it, as does an invited peer that says it
    /// has joined: either may be the only one left that knows the view.
    mutating func takeReport(_ message: EngineMessage<State, Event>, of slot: Int) {
        guard message.control.group == groupName else { return }
        let peerID = message.source.peerID
        guard let witness = sources.openSlot(ofPeer: peerID) ?? (isTrusted(peerID) ? slot : nil) else {
            return
        }
        sources[witness].report.take(message.control, silence: exchanges(message.control.silence))
    }

    /// Exchanges for which a member has announced that it says nothing.
    func exchanges(_ silence: UInt64?) -> Double {
        Double(min(silence ?? 0, SessionControl.silenceMax)) / Double(options.exchangeMilliseconds)
    }

    /// Whether this member installs a view of which it hears: it has accepted the additions, or a majority of those in reach
    /// report them. This member doesn't count, so it follows the only other one in reach.
    func isBelieved(_ record: SessionViewRecord) -> Bool {
        let change = stance.change
        let accepted = change?.accepted?.record.membership.open.map(\.source) ?? []
        let added = record.membership.open.map(\.source).filter { source in
            !accepted.contains(source) && sources.slot(of: source).map { !sources[$0].isOpen } ?? true
        }
        if added.isEmpty { return true }
        let inReach = sources.indices.dropFirst().filter { isWitness($0) && isInReach($0) }
        let reporters = inReach.filter { Set(sources[$0].report.members).isSuperset(of: added) }
        if 2 * reporters.count > inReach.count { return true }
        // Members that hear of the view from the same one would wait for each other, if the rest of those that decided it is
        // gone. They follow it once those that may have decided it are a majority.
        guard reporters.contains(where: { sources[$0].report.age > MemberReport.exchangesMax }) else { return false }
        let deciders = openSlots.filter { reporters.contains($0) || !isInReach($0) || vote(of: $0) != nil }
        return isMajority(deciders.count)
    }

    private func isWitness(_ slot: Int) -> Bool {
        sources[slot].isOpen || !sources[slot].isClosed && !sources[slot].report.members.isEmpty
    }

    func isInReach(_ slot: Int) -> Bool {
        !wishes.suspected.contains(sources[slot].source.peerID)
            && sources[slot].report.silence <= MemberReport.exchangesMax
    }

    /// Whether this member has heard that one, or a member that is not excluded says so of itself.
    func isVouched(_ slot: Int, excluding excluded: Set<SessionSource>) -> Bool {
        let source = sources[slot].source
        return sources[slot].lastHeard != nil || !sources[slot].acknowledged.isEmpty
            || openSlots.dropFirst().contains { other in
                !excluded.contains(sources[other].source) && sources[other].report.heard.contains(source)
            }
    }
}
