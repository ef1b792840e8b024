import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport

/// One direction between two peers: its faults and its packets.
struct Direction {
    /// The members' indices.
    let from: Int
    let to: Int
    let fromAddress: LinkAddress
    let toAddress: LinkAddress
    var random: SplitMix64
    /// The conditions of this direction; nil for the network's.
    var conditions: ScenarioConditions?
    var isCut = false
    /// The false reachability that the network reports to the sending side; nil if it reports the true one.
    var claimedReachability: Bool?
    /// The connection that the sending side knows of; nil while it believes that there is none.
    var view: UInt64?
    /// The newest connection that the sending side has used, or missed a part of.
    var lastSeen: UInt64 = 0

    /// Number of scheduled arrivals on the lane `datagram`.
    var datagramCount = 0
    var lastDatagramArrival: UInt64 = 0
    var stream = StreamLane()
    var kept: [LinkLane: KeptLane] = [:]
    var latest: [String: LatestLane] = [:]
    /// True if `send` has thrown `full` for another key.
    var hasThrownFullForLatest = false

    init(from: (index: Int, id: String), to: (index: Int, id: String), seed: UInt64) {
        (self.from, self.to) = (from.index, to.index)
        (fromAddress, toAddress) = (LinkAddress(from.id), LinkAddress(to.id))
        let name = StableHash(Array("\(from.id)\u{0}\(to.id)".utf8))
        random = SplitMix64(seed: seed ^ name.low)
    }
}

/// The connection between two peers, over the directions `2 * index` and `2 * index + 1`.
struct Pair {
    /// The number of the connection, from 1. Packets on live lanes carry the number of theirs.
    var generation: UInt64 = 0
    var isUp = false
    /// True if one side has closed in an orderly way and its packets are still in flight.
    var isEnding = false
    /// The earliest time for the next connection, after one side has ended one.
    var restsUntil: UInt64 = 0
    /// The reason that both sides get when the connection is over.
    var reason: String?
}

/// The lane `stream` of one direction: bytes that were accepted and haven't arrived.
struct StreamLane {
    var byteCount = 0
    /// Number of scheduled arrivals.
    var scheduledCount = 0
    var lastArrival: UInt64 = 0
    /// Bytes that have arrived but aren't delivered yet: a random rest, or bytes that wait for the direction to open.
    var held: [UInt8] = []
    /// True if `send` has thrown `full`.
    var hasThrownFull = false
}

/// A lane on which packets arrive once and in order: the waiting packets, and the number of scheduled arrivals.
struct KeptLane {
    var waiting = FirstInFirstOut<[UInt8]>()
    var scheduledCount = 0
    var lastArrival: UInt64 = 0
    var hasThrownFull = false
}

/// The lane `latest` for one key. Only the newest packet arrives: one is in flight and one waits behind it.
struct LatestLane {
    var inFlight: [UInt8]?
    var waiting: [UInt8]?
}
