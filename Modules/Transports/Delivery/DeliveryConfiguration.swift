public import MeshBase
public import MeshIdentity
import MeshTransport
public import MeshWire

/// The options of a `LinkTransport`. The defaults suit two devices of one person.
public struct DeliveryConfiguration: Sendable {
    /// The codec for payloads that are sent. Every peer must be able to read it.
    public var codec: any PayloadCodec = CompactCodec()
    /// The codecs in which payloads may arrive, in addition to `codec`.
    public var readableCodecs: [any PayloadCodec] = [CompactCodec(), JSONCodec()]
    /// The compression of bodies. Receivers need no setting for deflate: each frame names its method. A preferred format
    /// (`CompressionPolicy.preferring`) is used on live lanes toward peers that have it in this option too.
    public var compression: CompressionPolicy = .zlib()
    /// Maximum size of a payload. A link with smaller lanes lowers it.
    public var payloadLimit: PayloadLimit = .deliveryMessage
    /// Maximum number of unacknowledged messages per peer, connected or not. Beyond it, `send` suspends or throws. At
    /// most 4096, which is the receivers' limit.
    public var queueLimit = 4096
    /// Maximum number of payload bytes of a peer's unacknowledged messages. Capped at 64 MiB, which is the receivers'
    /// limit.
    let queueBytesMax = 64 << 20
    /// Maximum number of reliable messages that wait while no peer is known.
    let pendingLimit = 200
    /// The time after which a peer of an earlier version is probed, or any peer that owes an acknowledgement. Idle
    /// peers of this version are probed after `LinkTraits.idleInterval`.
    public var heartbeat: Duration = .seconds(5)
    /// The abilities that hellos offer. Tests omit some to act as an earlier version.
    package var abilities = WireAbilities.all
    /// Maximum time for which a receiver collects acknowledgements.
    let acknowledgementDelay: Duration = .milliseconds(10)
    /// The time for which reliable messages wait for a subscriber that reads nothing while others do. After that, the
    /// subscriber loses messages until it reads again, and delivery reports it.
    let stallPatience: Duration = .seconds(10)
    /// Maximum number of elements that wait for one slow subscriber.
    public var bufferLimit = 4096
    /// Maximum number of features whose newest snapshot is kept: own ones, and separately those of others.
    public var featureLimit = 256
    /// The seed of all random numbers, for tests. nil uses the system's. With a store, each launch needs a different
    /// seed: two launches with one seed would assign the same numbers to different messages.
    public var seed: UInt64?

    /// Creates a configuration with the default of every option.
    public init() {}

    static let queueBytesLimit = 64 << 20
}

extension PayloadLimit {
    /// Maximum payload of one message, in any number of packets.
    public static let deliveryMessage = PayloadLimit(
        id: "delivery.message", bytes: 1_032_192, summary: "Payload of one message over a live lane",
        source: "FrameLimits: frames of 1 MiB at most, less 16 KiB for header, metadata and vector")
}
