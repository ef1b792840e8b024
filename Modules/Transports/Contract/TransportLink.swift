public import MeshBase

/// Moves bytes between this peer and others: the part that the author of a transport writes. MeshDelivery's
/// `LinkTransport` turns it into a complete `SessionSyncTransport`: greeting, framing, acknowledgement, retransmission,
/// order, snapshots, health.
///
/// To the implementer:
/// - A link knows only addresses and packets. It doesn't know the peer at an address, nor the meaning of the bytes.
/// - `open` starts the link. From then on the link reports its events to the observer, from any thread, until `close`
///   returns. `open` must return soon; report slow results as events.
/// - `send` accepts a packet or throws. It must never block. A link without space throws `full`, and calls `writable`
///   once it has some. `send` is called from any thread, but for one address never concurrently.
/// - The observer may call `send` from within any of its methods, so never call it while holding a lock that `send`
///   takes. Calling it from within `send` is fine.
/// - Release the observer when `close` returns.
/// - A link promises only its lanes: see `LinkLane`.
///
/// A link takes about a hundred lines; Docs/Transports/AddingATransport.md writes one.
public protocol TransportLink: AnyObject, Sendable {
    /// The link's lanes, and the largest packet of each. Constant, at least one.
    var lanes: [LinkLane: PayloadLimit] { get }
    /// The properties by which callers may choose a link. Constant.
    var traits: LinkTraits { get }
    /// Opens the link and starts reporting to the observer. Called once.
    ///
    /// - Throws: an error if the link can't start; the transport's `start` passes it on.
    func open(_ observer: any LinkObserver) throws
    /// Sends the packet on the lane that it names.
    /// - Throws: `full`, `unreachable`, `oversized` or `closed`; the packet wasn't accepted. After `unreachable` for a
    ///   live lane of a reported connection, the link must also report `disconnected`, once it has passed on the peer's
    ///   earlier bytes. Nothing more is sent there until then.
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError)
    /// Ends the live lanes of an address, for example because its bytes can't be decoded, and reports `disconnected`.
    /// The address may connect again later.
    func disconnect(_ address: LinkAddress)
    /// Returns true if the peer with that ID is a device of the same user: the user has said so while pairing, or the
    /// link connects nothing else. Sessions admit such peers without an invitation. May be called on any thread, with
    /// locks held: must only look at memory. The default is false: the link can't tell.
    func isOwn(_ peerID: String) -> Bool
    /// Returns a stream of the IDs of the peers that the user has revoked as lost: now, and after each change. Each
    /// call returns a separate stream. A revoked peer must not be admitted, not even as a guest. The default is nil:
    /// the link has no keys, so no peer can be revoked.
    func revokedPeers() -> AsyncStream<Set<String>>?
    /// The unsolved problems of the link, such as a missing watch. The transport's `problems` begin with them. Must be
    /// observable, and may be read on any thread. The default is none.
    var problems: [SessionProblem] { get }
    /// The number of times that the link may still wake a suspended receiver today, for packets with
    /// ``LinkPacket/isUrgent``; 0 while it can't. May be read on any thread. The default is nil: the link never can.
    var remainingWakes: Int? { get }
    /// Gives accepted packets about a second to reach the other side, then ends the link. Idempotent.
    func close() async
}

extension TransportLink {
    public var traits: LinkTraits { LinkTraits() }
    /// Does nothing: the default for links without connections.
    public func disconnect(_ address: LinkAddress) {}
    public func isOwn(_ peerID: String) -> Bool { false }
    public func revokedPeers() -> AsyncStream<Set<String>>? { nil }
    public var problems: [SessionProblem] { [] }
    public var remainingWakes: Int? { nil }
}

/// The promise that a link makes for packets on a lane.
public enum LinkLane: String, Hashable, Sendable, CaseIterable, Codable {
    /// Now or never: a packet may be lost, duplicated or overtaken, but is never split.
    case datagram
    /// Everything arrives once and in order while connected. A packet may be split or joined with others on the way:
    /// the peer receives the same bytes in other pieces.
    case stream
    /// The platform keeps packets and delivers each when it can, in order, even long after either side has gone.
    case queue
    /// The platform keeps the newest packet of each key and delivers it when it can.
    case latest
    /// Delivers like `queue`, for large packets that may take longer.
    case file

    /// True if the lane works only while the address is connected. Other lanes work once the address is known.
    public var isLive: Bool { self == .datagram || self == .stream }
}

/// The properties of a link that callers of a transport may want to know.
public struct LinkTraits: Hashable, Sendable {
    /// The usual time between a send and its arrival.
    public var expectedLatency: SessionExpectedLatency
    /// True if the link finds peers by itself, without being given their names.
    public var discoversPeers: Bool
    /// True if the link returns this peer's own packets, and there is no other peer.
    public var returnsOwnPackets: Bool
    /// True if only the peer itself can read what is sent to it, or send in its name, on any lane.
    public var isSecured: Bool
    /// True if the link reports every address together with the peer ID that it has proven. Delivery rejects an address
    /// without one.
    public var provesPeers: Bool
    /// The time without an exchange after which an idle connection is probed. A peer that dies silently is noticed soon
    /// afterwards. Values below a second count as a second.
    public var idleInterval: Duration

    /// Creates the traits of a link. By default it is live, finds its peers and proves nothing about them.
    public init(
        expectedLatency: SessionExpectedLatency = .realtime, discoversPeers: Bool = true,
        returnsOwnPackets: Bool = false, isSecured: Bool = false, provesPeers: Bool = false,
        idleInterval: Duration = .seconds(20)
    ) {
        self.idleInterval = idleInterval
        self.isSecured = isSecured
        self.provesPeers = provesPeers
        self.expectedLatency = expectedLatency
        self.discoversPeers = discoversPeers
        self.returnsOwnPackets = returnsOwnPackets
    }
}

/// The link's name for the other side: a connection, a socket's peer, a paired device. Opaque to every other layer.
public struct LinkAddress: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The link's own text.
    public let rawValue: String

    /// Creates an address from any text that the link understands.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(value) }

    public var description: String { rawValue }
}

/// The bytes that a link sends at once on one lane.
public struct LinkPacket: Hashable, Sendable {
    /// The lane on which the packet is sent.
    public var lane: LinkLane
    /// The bytes to send: at most the link's limit for the lane.
    public var bytes: [UInt8]
    /// The name of the earlier packet that this one replaces on the lane `latest`. Empty on other lanes.
    public var key: String
    /// True if the packet is worth waking a suspended receiver for. A hint, used only on lanes that the platform keeps.
    /// A link that can't wake receivers ignores it.
    public var isUrgent: Bool

    /// Creates a packet for one lane.
    public init(lane: LinkLane, bytes: [UInt8], key: String = "", isUrgent: Bool = false) {
        self.lane = lane
        self.bytes = bytes
        self.key = key
        self.isUrgent = isUrgent
    }
}

/// The receiver of a link's events. Implemented by the transport; safe to call from any thread.
public protocol LinkObserver: AnyObject, Sendable {
    /// Reports a peer that platform-kept lanes can reach from now on. Must come before packets on them: a packet from
    /// an address that was neither found nor connected is dropped.
    /// - Parameter peerID: the ID that the link has proven for that address, on every lane; nil if it proves none.
    ///   Delivery then believes the ID in the peer's hello.
    func found(_ address: LinkAddress, as peerID: String?)
    /// Reports that live lanes work from now on, in a new connection: nothing from an earlier connection arrives on
    /// them any more. If connections begin on threads other than the sending ones, give each connection its own
    /// address. Then no packet for an earlier connection reaches the next.
    /// - Parameter peerID: the ID that the link has proven; nil if it proves none. Delivery then believes the ID in the
    ///   peer's hello.
    func connected(_ address: LinkAddress, as peerID: String?)
    /// Reports a connected peer that is a guest only (`GuestAdmittingLink`). The default does nothing, for observers
    /// without guests.
    func connected(_ address: LinkAddress, asGuest peerID: String)
    /// Reports received bytes: on `stream` any part of the peer's bytes, elsewhere one complete packet.
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress)
    /// Reports datagrams that arrived together, ideally at most 256. Cheaper than single reports, which are the
    /// default.
    func received(datagrams: [[UInt8]], from address: LinkAddress)
    /// Reports that, according to the platform, a packet of a live lane wasn't delivered. A link needn't report this;
    /// the default does nothing.
    func undelivered(_ packet: LinkPacket, to address: LinkAddress)
    /// Reports that the link has space again after `send` threw `full`.
    func writable(_ address: LinkAddress)
    /// Reports that live lanes no longer work.
    /// - Parameter reason: the error; nil for an orderly end.
    func disconnected(_ address: LinkAddress, reason: String?)
    /// Reports that the link has failed for good.
    func failed(_ reason: String)
}

extension LinkObserver {
    public func received(datagrams: [[UInt8]], from address: LinkAddress) {
        for datagram in datagrams { received(datagram, on: .datagram, from: address) }
    }
    public func undelivered(_ packet: LinkPacket, to address: LinkAddress) {}
    public func connected(_ address: LinkAddress, asGuest peerID: String) {}

    /// Reports a received packet that is an array of bytes.
    public func received(_ bytes: [UInt8], on lane: LinkLane, from address: LinkAddress) {
        bytes.withUnsafeBytes { received($0, on: lane, from: address) }
    }
}

/// The error of a link that doesn't accept a packet.
public struct LinkError: CodedError, Hashable {
    /// The reason for the error. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// No space now; `writable` follows.
        public static let full = Code(description: "full")
        /// No peer is at that address, or the lane needs a connection and there is none.
        public static let unreachable = Code(description: "unreachable")
        /// The packet exceeds the lane's limit.
        public static let oversized = Code(description: "oversized")
        /// The link has been closed, or has not been opened.
        public static let closed = Code(description: "closed")
    }

    public let code: Code
    public let message: String

    /// Creates an error of a ``TransportLink``, for implementers.
    public init(_ code: Code, _ message: String = "") {
        (self.code, self.message) = (code, message)
    }

    public var advice: String {
        switch code {
        case .full: "Wait until the link is writable, then send again."
        case .oversized: "Send a smaller packet, or split it."
        case .closed: "Open a new link."
        default: "Wait until the peer is connected, then send again."
        }
    }
}
