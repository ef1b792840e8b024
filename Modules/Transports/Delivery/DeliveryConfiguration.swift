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
    /// The compression of bodies. Receivers need no setting: each frame names its method.
    public var compression: CompressionPolicy = .zlib()
    /// The largest payload; a link whose lanes carry less lowers it.
    public var payloadLimit: PayloadLimit = .deliveryMessage
    /// Messages that one peer has not acknowledged, or that wait for a connection, before `send` suspends or throws.
    /// At most 4096, which is what receivers keep.
    public var queueLimit = 4096
    /// Bytes of payload of the same. More than 64 MiB, which is what receivers keep, counts as that.
    let queueBytesMax = 64 << 20
    /// Reliable messages that wait while no peer is known.
    let pendingLimit = 200
    /// The time after which a peer of an earlier version is probed, and other peers while they owe an acknowledgement. Idle
    /// peers of this version are probed after `LinkTraits.idleInterval`.
    public var heartbeat: Duration = .seconds(5)
    /// What greetings offer. Tests leave some out to be a peer of an earlier version.
    package var abilities = WireAbilities.all
    /// How long a receiver may gather what it acknowledges.
    let acknowledgementDelay: Duration = .milliseconds(10)
    /// How long reliable messages wait for a subscriber that takes none, while others do. Then it loses what comes until
    /// it takes something again, and is reported.
    let stallPatience: Duration = .seconds(10)
    /// Elements that wait for one slow subscriber.
    public var bufferLimit = 4096
    /// Features of which the newest snapshot is kept, own and others'.
    public var featureLimit = 256
    /// Fixes every draw, for tests; nil draws from the system. With a store, each launch needs another seed: two launches with one
    /// seed would give the same numbers to different messages.
    public var seed: UInt64?

    /// Creates a configuration with the default of every option.
    public init() {}

    static let queueBytesLimit = 64 << 20
}

extension PayloadLimit {
    /// One message, whatever the number of packets that it takes.
    public static let deliveryMessage = PayloadLimit(
        id: "delivery.message", bytes: 1_032_192, summary: "Payload of one message over a live lane",
        source: "FrameLimits: frames of 1 MiB at most, less 16 KiB for header, metadata and vector")
}
