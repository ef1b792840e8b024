import MeshIdentity
import MeshRegister

/// What is known of one peer: how far it is, and what it is to be told.
struct StatePeer: Sendable {
    /// What it has seen by its own account.
    var known = StateVector()
    /// The life of its process in which it said so.
    var life: UInt32?
    /// The whole value that it has.
    var holds: StateVersion?
    /// Its version of the library refuses NaN and infinity; nil until it has said something.
    var isEarlier: Bool?
    /// Counts whom we heard of last.
    var turn: UInt64 = 0

    // Of this life of ours only:
    /// What we had seen when we last sent it everything that it lacks.
    var sent: StateVector?
    var sentFallback: StateVersion?
    /// It has said something.
    var isMet = false
    /// It has heard of this life, and knows no change of this peer that isn't here.
    var hasVouched = false
    var isDue = false
    var owesReport = false
    /// It is to answer what we send next.
    var asks = false
    /// Changes that have lost here and that it may not know of, until it has heard that the winner is here.
    private(set) var lost: [Lost] = []

    /// A change that lost against a concurrent one.
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

    /// What it knows us to have, it has heard together with what lost.
    mutating func forgetLost(knownTo base: StateVector?) {
        guard let base, !lost.isEmpty else { return }
        lost.removeAll { base.covers($0.winner) }
    }

    func lacks(_ register: StateRegister) -> Bool { lacksFallback(register) || register.isLacked(by: known) }

    func lacksFallback(_ register: StateRegister) -> Bool {
        guard register.needsFallback, let fallback = register.fallback else { return false }
        return holds.map { $0 < fallback.version } ?? true
    }

    /// What it lacks is on its way.
    func isSent(_ register: StateRegister) -> Bool {
        guard let sent, !register.isLacked(by: sent) else { return false }
        return !lacksFallback(register) || sentFallback == register.fallback?.version
    }
}

extension StatePeer: Codable {
    private enum CodingKeys: String, CodingKey { case known, life, holds, isEarlier, turn }
}
