import MeshIdentity
import MeshRegister

/// The state of one peer: what it has seen, and what it must be sent.
struct StatePeer: Sendable {
    /// The changes that the peer says it has seen.
    var known = StateVector()
    /// The incarnation in which the peer has reported `known`.
    var incarnation: UInt32?
    /// The version of the whole value that the peer has.
    var holds: StateVersion?
    /// True if the peer's version of the library rejects NaN and infinity; nil until the peer has sent a message.
    var isEarlier: Bool?
    /// The number of the peer's last message, counted over all peers. The peers heard longest ago are forgotten first.
    var turn: UInt64 = 0

    // Not stored:
    /// The changes that this replica had seen when it last sent the peer everything that it lacked.
    var sent: StateVector?
    var sentFallback: StateVersion?
    /// True if the peer has sent a message in this launch.
    var hasResponded = false
    /// True if the peer has heard of this launch, and knows no change of this author that is missing here.
    var hasConfirmedAuthor = false
    var isDue = false
    var owesReport = false
    /// True if the next message asks the peer for an answer.
    var asks = false
    /// Changes that lost here and that the peer may not know. Each is kept until the peer knows that its winner is here.
    private(set) var lost: [Lost] = []

    /// A change that lost to a concurrent one.
    struct Lost: Sendable {
        let item: StateMessage.Item
        let winner: StateVersion
        var byteCount: Int { item.entry.byteCount(item.name) }
    }

    mutating func keep(_ new: Lost) {
        guard lost.count < StateLimits.conflictsMax,
            lost.reduce(new.byteCount, { $0 + $1.byteCount }) <= StateLimits.lostBytesMax,
            !lost.contains(where: { $0.item == new.item })
        else { return }
        lost.append(new)
    }

    /// Drops lost changes once the peer knows that their winner is here: the same message reported both.
    mutating func forgetLost(knownTo base: StateVector?) {
        guard let base, !lost.isEmpty else { return }
        lost.removeAll { base.covers($0.winner) }
    }

    func lacks(_ register: StateRegister) -> Bool { lacksFallback(register) || register.hasEntries(missingFrom: known) }

    func lacksFallback(_ register: StateRegister) -> Bool {
        guard register.needsFallback, let fallback = register.fallback else { return false }
        return holds.map { $0 < fallback.version } ?? true
    }

    /// Indicates whether everything that the peer lacks has been sent.
    func isSent(_ register: StateRegister) -> Bool {
        guard let sent, !register.hasEntries(missingFrom: sent) else { return false }
        return !lacksFallback(register) || sentFallback == register.fallback?.version
    }
}

extension StatePeer: Codable {
    private enum CodingKeys: String, CodingKey {
        case known
        case incarnation = "life"
        case holds, isEarlier, turn
    }
}
