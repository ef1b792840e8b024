public import MeshBase
public import MeshTransport

/// Lanes of a scenario link, ready made. Any other choice works too; what two peers share is what they have in common.
public enum ScenarioLanes {
    /// The lanes of a local network: datagrams of one Ethernet frame, and a stream. The default.
    public static let network: [LinkLane: PayloadLimit] = [.datagram: datagram(bytes: 1200), .stream: stream]
    /// Datagrams only, so that every fault of the network reaches the layers above.
    public static let datagrams: [LinkLane: PayloadLimit] = [.datagram: datagram(bytes: 1200)]
    /// A stream only, like a pipe or a socket.
    public static let streams: [LinkLane: PayloadLimit] = [.stream: stream]
    /// The lanes of a platform that keeps messages while the other side is away, such as a paired phone and watch.
    public static let paired: [LinkLane: PayloadLimit] = [
        .datagram: datagram(bytes: 65_536),
        .queue: PayloadLimit(
            id: "scenario.queue", bytes: 65_536, summary: "one packet that the network keeps",
            source: "WatchConnectivity: a user-info transfer"),
        .latest: PayloadLimit(
            id: "scenario.latest", bytes: 262_144, summary: "the newest packet of a key",
            source: "WatchConnectivity: an application context"),
    ]

    private static func datagram(bytes: Int) -> PayloadLimit {
        PayloadLimit(
            id: "scenario.datagram", bytes: bytes, summary: "one datagram",
            source: bytes == 1200
                ? "RFC 9000, 14: what every path carries unfragmented" : "WatchConnectivity: a live message")
    }

    private static let stream = PayloadLimit(
        id: "scenario.stream", bytes: 65_536, summary: "bytes handed over at once",
        source: "chosen; a stream has no boundaries")
}

/// The fixed measures of a scenario network: what it holds at most for each direction between two peers, and how long
/// it rests.
struct ScenarioLimits {
    /// Further ones are lost, as in a router whose queue is full.
    let datagrams = 16_384
    /// Arrive together at most.
    let datagramsTogether = 256
    /// Taken and not arrived; further ones are refused with `full`.
    let streamBytes = 262_144
    /// Of each lane that the network keeps; further ones are refused with `full`.
    let keptPackets: Int
    /// Different keys on the lane `latest`; further ones are refused with `full`.
    let latestKeys = 256
    /// Nanoseconds after which two peers of whom one has ended their connection are connected anew.
    let restAfterEnd: UInt64 = 1_000_000_000
}
