import MeshBase

/// The simulated network: it loses, duplicates, delays and partitions frames. Each direction of each pair has its own
/// random generator, so an extra frame on one doesn't change the others.
struct FrameNetwork {
    /// Virtual microseconds until a frame and its duplicate arrive; nil for one that doesn't arrive.
    struct Fate {
        var first: UInt64?
        var copy: UInt64?
    }

    private var conditions: Conditions
    private var links: [Link]
    /// The row length of `links`. Changing it would change the random numbers of every existing seed.
    private let width: Int
    private(set) var counts = FaultCounts()

    private struct Link {
        var random: SplitMix64
        /// The number of partitions in effect. They may overlap.
        var cuts = 0
        /// The latest arrival time of any frame sent so far. A later frame that arrives before it overtakes that frame.
        var latest: UInt64 = 0
    }

    init(_ schedule: Schedule) {
        conditions = schedule.conditions
        var random = SplitMix64(seed: ~schedule.seed)
        width = max(5, schedule.peerCount)
        links = (0..<(width * width)).map { _ in Link(random: SplitMix64(seed: random.next())) }
    }

    func isCut(from sender: Int, to receiver: Int) -> Bool { links[sender * width + receiver].cuts > 0 }

    mutating func cut(from sender: Int, to receiver: Int, by change: Int) {
        links[sender * width + receiver].cuts += change
    }

    /// Ends loss, duplication, long delays and partitions, except that the peers in `abandoned` stay cut off.
    mutating func heal(except abandoned: SmallSet) {
        conditions.loss = 0
        conditions.duplication = 0
        conditions.longTail = 0
        for sender in 0..<width where !abandoned.contains(sender) {
            for receiver in 0..<width where !abandoned.contains(receiver) {
                links[sender * width + receiver].cuts = 0
            }
        }
    }

    mutating func fate(from sender: Int, to receiver: Int, at now: UInt64) -> Fate {
        let index = sender * width + receiver
        guard links[index].cuts == 0 else { return Fate() }
        var fate = Fate()
        if arrives(index) { fate.first = delay(index, at: now) }
        if conditions.duplication > 0, links[index].random.happens(rate: conditions.duplication), arrives(index) {
            fate.copy = delay(index, at: now)
            counts[.duplication] += 1
        }
        return fate
    }

    private mutating func arrives(_ index: Int) -> Bool {
        guard conditions.loss > 0, links[index].random.happens(rate: conditions.loss) else { return true }
        counts[.loss] += 1
        return false
    }

    private mutating func delay(_ index: Int, at now: UInt64) -> UInt64 {
        var delay = UInt64(
            conditions.latency * 1_000 + links[index].random.exponential(mean: conditions.jitter * 1_000))
        if conditions.longTail > 0, links[index].random.happens(rate: conditions.longTail) {
            delay += links[index].random.upTo(UInt64(Conditions.tailMax) * 1_000)
            counts[.longTail] += 1
        }
        if now + delay < links[index].latest { counts[.reordering] += 1 }
        links[index].latest = max(links[index].latest, now + delay)
        return delay
    }
}

/// The number of times that each kind of fault happened.
struct FaultCounts: Sendable, Equatable {
    private var counts = [Int](repeating: 0, count: FaultKind.allCases.count)

    subscript(kind: FaultKind) -> Int {
        get { counts[kind.rawValue] }
        set { counts[kind.rawValue] = newValue }
    }

    static func += (left: inout FaultCounts, right: FaultCounts) {
        for index in left.counts.indices { left.counts[index] += right.counts[index] }
    }
}
