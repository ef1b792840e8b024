public import MeshBase
public import MeshTransport

/// Predefined lanes of a scenario link. Any other choice works too; two peers use the lanes that both have.
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

/// The limits of a scenario network per direction between two peers, and its rest times.
struct ScenarioLimits {
    /// Maximum number of datagrams; further ones are lost, as in a router whose queue is full.
    let datagrams = 16_384
    /// Maximum number of datagrams that arrive together.
    let datagramsTogether = 256
    /// Maximum number of accepted bytes that haven't arrived; further ones are refused with `full`.
    let streamBytes = 262_144
    /// Maximum number of packets on each lane that the network keeps; further ones are refused with `full`.
    let keptPackets: Int
    /// Maximum number of keys on the lane `latest`; further ones are refused with `full`.
    let latestKeys = 256
    /// Nanoseconds between the end of a connection by one side and the next connection.
    let restAfterEnd: UInt64 = 1_000_000_000
}
