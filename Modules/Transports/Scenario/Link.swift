import MeshBus
import MeshIdentity

/// One direction between two peers: its faults, and what waits on it.
struct Link {
    /// Arrives once and in order: what waits, and how many arrivals are on the schedule for it.
    struct ReliableLane {
        var waiting = FirstInFirstOut<ScenarioMessage>()
        var scheduledCount = 0
        var lastArrival: UInt64 = 0

        var isIdle: Bool { waiting.isEmpty && scheduledCount == 0 }

        /// One more arrival, not before those that are scheduled already.
        mutating func schedule(noEarlierThan time: UInt64) -> UInt64 {
            scheduledCount += 1
            lastArrival = max(lastArrival, time)
            return lastArrival
        }
    }

    /// Only the newest arrives: one is under way and one waits behind it.
    struct LatestLane {
        var underWay: AnySessionSyncSnapshot?
        var waiting: AnySessionSyncSnapshot?
    }

    var random: SplitMix64
    /// The network's own where nil.
    var conditions: ScenarioConditions?
    var isCut = false
    /// The lie that the sending side is told; nil is the truth.
    var claim: Bool?
    /// What the sending side acts upon.
    var isBelievedReachable = false
    /// What its subscribers have been told.
    var isAnnouncedReachable = false
    var lastLossyArrival: UInt64 = 0
    var reliable: [String: ReliableLane] = [:]
    var reliableCount = 0
    var latest: [String: LatestLane] = [:]

    init(_ route: Route, seed: UInt64) {
        let name = StableHash(Array("\(route.from)\u{0}\(route.to)".utf8))
        random = SplitMix64(seed: seed ^ name.low)
    }
}
