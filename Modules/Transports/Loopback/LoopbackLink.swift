public import MeshBase
public import MeshTransport

/// A link to itself: each packet comes back before `send` returns, on the caller's thread.
///
/// Safe to use from any thread; stores nothing.
public final class LoopbackLink: TransportLink {
    /// The address for own packets.
    public static let address: LinkAddress = "loopback"

    private enum Phase {
        case idle
        case open(any LinkObserver)
        case closed
    }

    private let phase = Locked(Phase.idle)

    /// Creates a link that isn't open yet.
    public init() {}

    public let lanes: [LinkLane: PayloadLimit] = [
        .stream: PayloadLimit(
            id: "loopback.stream", bytes: 1 << 20, summary: "bytes handed over at once",
            source: "chosen; nothing is copied")
    ]

    public var traits: LinkTraits { LinkTraits(discoversPeers: false, returnsOwnPackets: true) }

    /// Opens the link, which connects to itself at once.
    ///
    /// - Throws: `LinkError.closed` after it was opened or closed.
    public func open(_ observer: any LinkObserver) throws {
        try phase.withLock { phase in
            guard case .idle = phase else { throw LinkError(.closed) }
            phase = .open(observer)
        }
        observer.connected(Self.address, as: nil)
    }

    /// Sends a packet, which comes back to this peer before the call returns.
    ///
    /// - Throws: `LinkError` with `unreachable`, `oversized` or `closed`.
    public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        guard case .open(let observer) = phase.withLock({ $0 }) else { throw LinkError(.closed) }
        guard address == Self.address, let limit = lanes[packet.lane] else { throw LinkError(.unreachable) }
        guard packet.bytes.count <= limit.bytes else {
            throw LinkError(.oversized, "\(packet.bytes.count) bytes, limit \(limit.bytes) (\(limit.id))")
        }
        observer.received(packet.bytes, on: packet.lane, from: address)
    }

    /// Returns true: both ends are in this process.
    public func isOwn(_ peerID: String) -> Bool { true }

    public func close() async { phase.withLock { $0 = .closed } }
}
