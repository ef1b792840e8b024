import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport

/// One direction between two peers: its faults, and what is on it.
struct Direction {
    /// Members, by index.
    let from: Int
    let to: Int
    let fromAddress: LinkAddress
    let toAddress: LinkAddress
    var random: SplitMix64
    /// The network's own where nil.
    var conditions: ScenarioConditions?
    var isCut = false
    /// The lie that the sending side is told; nil is the truth.
    var claim: Bool?
    /// The connection that the sending side has been told of; nil while it believes that there is none.
    var view: UInt64?
    /// The newest connection that the sending side has had, or has missed something of.
    var lastSeen: UInt64 = 0

    /// Arrivals on the lane `datagram` that are on the schedule.
    var datagramCount = 0
    var lastDatagramArrival: UInt64 = 0
    var stream = StreamLane()
    var kept: [LinkLane: KeptLane] = [:]
    var latest: [String: LatestLane] = [:]
    /// The sender was told that there is no room for one more key.
    var isLatestAwaited = false

    init(from: (index: Int, id: String), to: (index: Int, id: String), seed: UInt64) {
        (self.from, self.to) = (from.index, to.index)
        (fromAddress, toAddress) = (LinkAddress(from.id), LinkAddress(to.id))
        let name = StableHash(Array("\(from.id)\u{0}\(to.id)".utf8))
        random = SplitMix64(seed: seed ^ name.low)
    }
}

/// Two peers and what is between them: the directions `2 * index` and `2 * index + 1`.
struct Pair {
    /// Numbers connections, from 1. What travels on live lanes names the one that it belongs to.
    var generation: UInt64 = 0
    var isUp = false
    /// One side has closed in good order; what it sent is still on its way.
    var isEnding = false
    /// No connection begins before: one side has just ended one.
    var restsUntil: UInt64 = 0
    /// What the two are told once it is over.
    var reason: String?
}

/// The lane `stream` of one direction: bytes that were taken and have not arrived.
struct StreamLane {
    var byteCount = 0
    /// Arrivals that are on the schedule.
    var scheduledCount = 0
    var lastArrival: UInt64 = 0
    /// Has arrived but for the last moment: what was cut off, or waits for the direction to open.
    var held: [UInt8] = []
    /// The sender was told that there is no room.
    var isAwaited = false
}

/// A lane on which packets arrive once and in order: what waits, and how many arrivals are on the schedule for it.
struct KeptLane {
    var waiting = FirstInFirstOut<[UInt8]>()
    var scheduledCount = 0
    var lastArrival: UInt64 = 0
    var isAwaited = false
}

/// Only the newest packet of a key arrives: one is under way and one waits behind it.
struct LatestLane {
    var underWay: [UInt8]?
    var waiting: [UInt8]?
}
