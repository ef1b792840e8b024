/// Answers that wait for their time on one interface and family, and when each record was sent last.
///
/// At most `limit` replies wait; past it, one to the group joins another, and one to a single asker is dropped.
struct AnswerQueue: Sendable {
    struct Reply: Sendable {
        enum Recipient: Hashable, Sendable {
            case group
            case asker(IPAddress, port: UInt16)
        }

        var sets: RecordSets
        var due: Duration
        var recipient = Recipient.group
        /// Whose known answers take away from it.
        var asker: IPAddress?
        /// Until then more known answers may put it off (RFC 6762 section 7.2).
        var waitsUntil: Duration?
        /// It defends a name against a probe, for which a shorter pause is enough.
        var isDefence = false
    }

    private(set) var replies: [Reply] = []
    private var lastSent: [Duration?] = Array(repeating: nil, count: RecordSets.count)
    private static let limit = 32

    var nextDue: Duration? { replies.map(\.due).min() }

    /// False when it was dropped.
    mutating func enter(_ reply: Reply) -> Bool {
        guard !reply.sets.isEmpty else { return true }
        if let same = replies.firstIndex(where: {
            $0.recipient == reply.recipient && $0.asker == reply.asker && $0.isDefence == reply.isDefence
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
        guard reply.recipient == .group, let other = replies.lastIndex(where: { $0.recipient == .group }) else {
            return false
        }
        replies[other].sets.formUnion(reply.sets)
        replies[other].asker = nil
        return true
    }

    mutating func removeAll() { replies = [] }

    // MARK: Suppression

    /// An asker knows these already (RFC 6762 section 7.1).
    mutating func suppress(_ known: RecordSets, askedBy asker: IPAddress) {
        reduce(by: known) { $0.asker == asker }
    }

    /// Somebody else has told these to all (section 7.4).
    mutating func suppress(_ said: RecordSets) {
        reduce(by: said) { $0.recipient == .group && !$0.isDefence }
    }

    private mutating func reduce(by sets: RecordSets, where concerns: (Reply) -> Bool) {
        for index in replies.indices where concerns(replies[index]) { replies[index].sets.subtract(sets) }
        replies.removeAll { $0.sets.isEmpty }
    }

    /// The asker has said that still more known answers follow.
    mutating func putOff(askedBy asker: IPAddress, to due: Duration) {
        for index in replies.indices where replies[index].asker == asker {
            guard let until = replies[index].waitsUntil else { continue }
            replies[index].due = min(max(replies[index].due, due), until)
        }
    }

    // MARK: Sending

    /// When the set may be sent to the group again (section 6).
    private func earliest(_ set: RecordSets, isDefence: Bool) -> Duration {
        guard let last = lastSent[set.place] else { return .zero }
        return last + (isDefence ? .milliseconds(250) : .seconds(1))
    }

    func mayBeSent(_ set: RecordSets, _ now: Duration) -> Bool { earliest(set, isDefence: false) <= now }

    /// Sent to the group within a quarter of its lifetime, so that others have it (section 5.4).
    func wasSentLately(_ set: RecordSets, lifetime: UInt32, _ now: Duration) -> Bool {
        lastSent[set.place].map { $0 + .seconds(Double(lifetime) / 4) > now } ?? false
    }

    mutating func noteSent(_ sets: RecordSets, _ now: Duration) {
        for set in sets.each { lastSent[set.place] = now }
    }

    /// These are other records from now on.
    mutating func forgetSent(_ sets: RecordSets) {
        for set in sets.each { lastSent[set.place] = nil }
    }

    /// What is due for single askers.
    mutating func takeDueReplies(_ now: Duration) -> [Reply] {
        let due = replies.filter { $0.due <= now && $0.recipient != .group }
        if !due.isEmpty { replies.removeAll { $0.due <= now && $0.recipient != .group } }
        return due
    }

    /// What is due for all, together. What was sent too short a time ago stays until it was not.
    mutating func takeDueForGroup(_ now: Duration) -> RecordSets {
        let due = replies.filter { $0.due <= now && $0.recipient == .group }
        guard !due.isEmpty else { return [] }
        replies.removeAll { $0.due <= now && $0.recipient == .group }
        var sending: RecordSets = []
        for reply in due {
            for set in reply.sets.each where earliest(set, isDefence: reply.isDefence) <= now { sending.insert(set) }
        }
        // Those who asked a moment ago get the same answer.
        reduce(by: sending) { $0.recipient == .group }
        for reply in due {
            for set in reply.sets.subtracting(sending).each {
                let due = earliest(set, isDefence: reply.isDefence)
                _ = enter(Reply(sets: set, due: due, isDefence: reply.isDefence))
            }
        }
        return sending
    }
}
