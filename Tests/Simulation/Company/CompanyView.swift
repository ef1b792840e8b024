/// A list of open members, decided by those of the view before: one decree of single-decree Paxos (Lamport, Malkhi, Zhou:
/// *Reconfiguring a State Machine*, 2010). It is the whole membership, so a late member installs the newest one directly.
struct CompanyView: Hashable {
    /// Of each view since the first, the ballot that its decree was made under: where groups go on without each other, a number
    /// does not tell which chain it belongs to.
    var trail: [Int] = []
    var open: SmallSet
    /// The stamps at or below which newcomers have authored nothing.
    var floors = Counts()
    var closed: SmallSet = []
    /// The last sequence of each closed source.
    var finals = Counts()

    var number: Int { trail.count }
    var majority: Int { open.count / 2 + 1 }

    /// Whether this view is the other, or came after it.
    func follows(_ other: CompanyView) -> Bool { trail.starts(with: other.trail) }

    func covers(_ source: Int, _ sequence: Int) -> Bool {
        open.contains(source) || closed.contains(source) && sequence <= finals[source]
    }

    /// Whether members of the other view move to this one. Two views have one number only where both sides of a group went
    /// on without each other: then more members win, then the lowest source that is not in both.
    func supersedes(_ other: CompanyView) -> Bool {
        if number != other.number { return number > other.number }
        if open.count != other.open.count { return open.count > other.open.count }
        let (own, others) = (open.subtracting(other.open).lowest, other.open.subtracting(open).lowest)
        if own != others { return (own ?? .max) < (others ?? .max) }
        return trail.lexicographicallyPrecedes(other.trail)
    }

    func mix(into fingerprint: inout Fingerprint) {
        fingerprint.mix(trail.count)
        for ballot in trail { fingerprint.mix(ballot) }
        fingerprint.mix(open.bits)
        fingerprint.mix(closed.bits)
        floors.mix(into: &fingerprint)
        finals.mix(into: &fingerprint)
    }
}

/// Who wants another view, in which try, and whom it wants to close.
struct Ballot: Hashable, Comparable {
    var round: Int
    var proposer: Int
    var closing: SmallSet = []
    /// The user's word: those who stay decide, few as they are. All the others are closed.
    var isForced = false

    static func < (one: Ballot, other: Ballot) -> Bool {
        (one.round, one.proposer) < (other.round, other.proposer)
    }

    func mix(into fingerprint: inout Fingerprint) {
        fingerprint.mix(round << 8 | proposer << 1 | (isForced ? 1 : 0))
        fingerprint.mix(closing.bits)
    }
}

/// A decree that a member has accepted, and under which ballot.
struct Vote: Hashable {
    var ballot: Ballot
    var decree: CompanyView

    func mix(into fingerprint: inout Fingerprint) {
        ballot.mix(into: &fingerprint)
        decree.mix(into: &fingerprint)
    }
}

/// Nothing more from its author at or below the stamp beyond the sequence.
struct AuthorPromise: Hashable {
    var sequence: Int
    var stamp: Int
}

/// What a control says: all of it was persisted before, and stays true whoever hears it when.
struct CompanyStatement: Hashable {
    var source: Int
    /// It has no view yet and wants to join; the other members say nothing then.
    var isWaiting: Bool
    var view: CompanyView
    var ballot: Ballot?
    var quarantined: SmallSet
    var accepted: Vote?
    var held: Counts
    var promise: AuthorPromise
}

/// All that a newcomer starts from.
struct CompanyCopy: Hashable {
    var view: CompanyView
    var held: Counts
    var confirmed: Counts
    var lastKey: EventKey?
}

/// The place of an event in the order: stamp, then source, then sequence.
struct EventKey: Hashable, Comparable {
    private var bits: UInt64

    init(stamp: Int, source: Int, sequence: Int) {
        bits = UInt64(stamp) << 32 | UInt64(source) << 16 | UInt64(sequence)
    }

    var stamp: Int { Int(bits >> 32) }
    static func < (one: EventKey, other: EventKey) -> Bool { one.bits < other.bits }

    func mix(into fingerprint: inout Fingerprint) { fingerprint.mix(bits) }
}

/// What was ever authored. Names are given once, and an event is persisted before anybody hears of it, so that it needs no
/// place in messages: source and sequence are enough.
struct AuthoredEvents: Hashable {
    struct Event: Hashable {
        /// Kept when it is issued again.
        var id: Int
        var stamp: Int
    }

    private var events: [[Event]] = []

    func count(of source: Int) -> Int { source < events.count ? events[source].count : 0 }

    /// - Precondition: the source has authored as many.
    subscript(source: Int, sequence: Int) -> Event { events[source][sequence - 1] }

    func key(_ source: Int, _ sequence: Int) -> EventKey {
        EventKey(stamp: self[source, sequence].stamp, source: source, sequence: sequence)
    }

    /// A sequence that was drawn before and never persisted is drawn again.
    mutating func author(_ event: Event, by source: Int, as sequence: Int) {
        while events.count <= source { events.append([]) }
        events[source].removeSubrange((sequence - 1)...)
        events[source].append(event)
    }

    func mix(into fingerprint: inout Fingerprint) {
        for (source, list) in events.enumerated() {
            for event in list { fingerprint.mix(event.stamp << 40 | event.id << 8 | source) }
        }
    }
}
