public import MeshIdentity

/// A view of a group: who is in it for the time being. The members of one view decide on the next.
///
/// It holds the whole membership, so that a member that slept through several views installs the newest one.
public struct SessionViewRecord: Hashable, Sendable, Codable {
    /// 0 is the view in which the group was founded.
    public var number: UInt64
    public var membership: SessionMembership

    /// How many views a session has at most: an epoch names one of them.
    public static let numberMax: UInt64 = 1 << 16 - 1

    public init(number: UInt64, membership: SessionMembership) {
        self.number = number
        self.membership = membership
    }
}

/// An attempt at the next view. Ordered by round, then by who makes it.
public struct ViewBallot: Hashable, Sendable, Codable, Comparable {
    public var round: UInt64
    public var proposer: SessionSource

    public init(round: UInt64, proposer: SessionSource) {
        self.round = round
        self.proposer = proposer
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.round, left.proposer) < (right.round, right.proposer)
    }
}

/// A next view, and the ballot under which somebody has accepted it.
public struct AcceptedView: Hashable, Sendable, Codable {
    public var ballot: ViewBallot
    public var record: SessionViewRecord

    public init(ballot: ViewBallot, record: SessionViewRecord) {
        self.ballot = ballot
        self.record = record
    }
}

/// Where a member stands in the change from one view to the next; part of each of its controls.
public struct ViewStatement: Hashable, Sendable, Codable {
    /// The view in which the member is.
    public var number: UInt64
    /// The highest ballot that it has promised; nil while nobody wants a change.
    public var ballot: ViewBallot?
    /// Until it is in another view, it promises nothing beyond this.
    public var frozen: SequencePromise?
    /// Of these it takes no events any more, but those that members who are to stay hold already.
    public var quarantined: [SessionSource]
    public var accepted: AcceptedView?
    /// It wants to leave.
    public var isLeaving: Bool

    public init(
        number: UInt64, ballot: ViewBallot? = nil, frozen: SequencePromise? = nil, quarantined: [SessionSource] = [],
        accepted: AcceptedView? = nil, isLeaving: Bool = false
    ) {
        self.number = number
        self.ballot = ballot
        self.frozen = frozen
        self.quarantined = quarantined
        self.accepted = accepted
        self.isLeaving = isLeaving
    }
}

/// Events of other members that a member hands on, as events of theirs: it vouches for them.
public struct SessionRelay<Event: Codable & Sendable>: Sendable, Codable {
    public static var payloadType: String { "sessionmesh.relay" }

    /// Of one or several sources; those of one in the order of its sequence.
    public var records: [SessionRecord<Event>]

    public init(_ records: [SessionRecord<Event>]) { self.records = records }
}
