/// The answers that wait to be sent on one interface and family, and the time at which each record set was last sent.
///
/// At most `limit` replies wait. A further reply to the group is merged into another one, at the earlier of both times.
/// A further reply to a single querier is dropped.
struct AnswerQueue: Sendable {
    struct Reply: Sendable {
        enum Recipient: Hashable, Sendable {
            case group
            case querier(IPAddress, port: UInt16)
        }

        var sets: RecordSets
        var due: Duration
        var recipient = Recipient.group
        /// The querier whose known answers are removed from this reply.
        var querier: IPAddress?
        /// The latest time to which further known answers may postpone this reply (RFC 6762 section 7.2).
        var waitsUntil: Duration?
        /// True if the reply defends a name against a probe, which allows a shorter interval between repetitions.
        var isDefence = false
    }

    private(set) var replies: [Reply] = []
    private var lastSent: [Duration?] = Array(repeating: nil, count: RecordSets.count)
    private static let limit = 32

    var nextDue: Duration? { replies.map(\.due).min() }

    /// Queues a reply. Returns false if it was dropped.
    mutating func enqueue(_ reply: Reply) -> Bool {
        guard !reply.sets.isEmpty else { return true }
        if let same = replies.firstIndex(where: {
            $0.recipient == reply.recipient && $0.querier == reply.querier && $0.isDefence == reply.isDefence
                && $0.waitsUntil == nil && reply.waitsUntil == nil
        }) {
            replies[same].sets.formUnion(reply.sets)
            replies[same].due = min(replies[same].due, reply.due)
            return true
        }
        guard replies.count >= Self.limit else {
            replies.append(reply)
            return true
        }
        return join(reply)
    }

    /// Merges a reply into another one in a full queue, preferably of the same kind. If one of the two is a defence,
    /// the result is one too, because a prober takes the name if the answer is late.
    private mutating func join(_ reply: Reply) -> Bool {
        guard reply.recipient == .group else { return false }
        let sameKind = replies.lastIndex { $0.recipient == .group && $0.isDefence == reply.isDefence }
        guard let other = sameKind ?? replies.lastIndex(where: { $0.recipient == .group }) else { return false }
        replies[other].sets.formUnion(reply.sets)
        replies[other].due = min(replies[other].due, reply.due)
        replies[other].isDefence = replies[other].isDefence || reply.isDefence
        // The joined reply no longer belongs to one querier, so it doesn't wait for known answers.
        (replies[other].querier, replies[other].waitsUntil) = (nil, nil)
        return true
    }

    mutating func removeAll() { replies = [] }

    // MARK: Suppression

    /// Removes records that the querier already knows (RFC 6762 section 7.1).
    mutating func suppress(_ known: RecordSets, listedBy querier: IPAddress) {
        reduce(by: known) { $0.querier == querier }
    }

    /// Removes records that another host has just sent to the group (section 7.4).
    mutating func suppress(_ sent: RecordSets) {
        reduce(by: sent) { $0.recipient == .group && !$0.isDefence }
    }

    private mutating func reduce(by sets: RecordSets, where concerns: (Reply) -> Bool) {
        for index in replies.indices where concerns(replies[index]) { replies[index].sets.subtract(sets) }
        replies.removeAll { $0.sets.isEmpty }
    }

    /// Postpones the replies to a querier that announced more known answers.
    mutating func postponeReplies(to querier: IPAddress, until due: Duration) {
        for index in replies.indices where replies[index].querier == querier {
            guard let until = replies[index].waitsUntil else { continue }
            replies[index].due = min(max(replies[index].due, due), until)
        }
    }

    // MARK: Sending

    /// The earliest time at which the set may be sent to the group again (section 6).
    private func earliest(_ set: RecordSets, isDefence: Bool) -> Duration {
        guard let last = lastSent[set.place] else { return .zero }
        return last + (isDefence ? .milliseconds(250) : .seconds(1))
    }

    func canSend(_ set: RecordSets, _ now: Duration) -> Bool { earliest(set, isDefence: false) <= now }

    /// Returns true if the set was sent less than a quarter of its lifetime ago, so that others have it (section 5.4).
    func wasSentRecently(_ set: RecordSets, lifetime: UInt32, _ now: Duration) -> Bool {
        lastSent[set.place].map { $0 + .seconds(Double(lifetime) / 4) > now } ?? false
    }

    mutating func noteSent(_ sets: RecordSets, _ now: Duration) {
        for set in sets.each { lastSent[set.place] = now }
    }

    /// Forgets when these sets were sent, because their records have changed.
    mutating func forgetSent(_ sets: RecordSets) {
        for set in sets.each { lastSent[set.place] = nil }
    }

    /// Removes and returns the replies that are due to single queriers.
    mutating func takeDueReplies(_ now: Duration) -> [Reply] {
        let due = replies.filter { $0.due <= now && $0.recipient != .group }
        if !due.isEmpty { replies.removeAll { $0.due <= now && $0.recipient != .group } }
        return due
    }

    /// Removes and returns the record sets that are due to the group. Sets that were sent too recently stay queued.
    mutating func takeDueForGroup(_ now: Duration) -> RecordSets {
        let due = replies.filter { $0.due <= now && $0.recipient == .group }
        guard !due.isEmpty else { return [] }
        replies.removeAll { $0.due <= now && $0.recipient == .group }
        var sending: RecordSets = []
        for reply in due {
            for set in reply.sets.each where earliest(set, isDefence: reply.isDefence) <= now { sending.insert(set) }
        }
        // The packet also answers the group replies that aren't due yet.
        reduce(by: sending) { $0.recipient == .group }
        for reply in due {
            for set in reply.sets.subtracting(sending).each {
                let due = earliest(set, isDefence: reply.isDefence)
                _ = enqueue(Reply(sets: set, due: due, isDefence: reply.isDefence))
            }
        }
        return sending
    }
}
