public import MeshBase

/// Moves bytes between this peer and others: what the author of a transport writes. MeshDelivery's `LinkTransport` makes
/// a whole `SessionSyncTransport` of it: greeting, framing, acknowledgement, retransmission, order, snapshots, health.
///
/// To the implementer:
/// - A link knows addresses and packets. Who is behind an address, and what the bytes mean, is not its concern.
/// - `open` begins; from then on whatever happens is told to the observer, from any thread, until `close` returns.
///   It must return soon: what takes time is told when it has happened.
/// - `send` takes a packet or throws. It must never block; a link that has no room throws `full` and says `writable`
///   once it has some. It is called from any thread, but for one address never by two at once.
/// - The observer may call `send` from within any of its methods, so never call it while holding a lock that `send`
///   takes. Calling it from within `send` is fine.
/// - Hold the observer no longer than until `close` has returned.
/// - What it promises is its lanes: see `LinkLane`. Nothing else is assumed.
///
/// About a hundred lines; Docs/Transports/AddingATransport.md writes one.
public protocol TransportLink: AnyObject, Sendable {
    /// The lanes on offer, and the largest packet of each. Constant, at least one.
    var lanes: [LinkLane: PayloadLimit] { get }
    /// The properties by which callers may choose a link. Constant.
    var traits: LinkTraits { get }
    /// Opens the link and starts reporting to the observer. Called once.
    ///
    /// - Throws: what keeps the link from beginning at all; the transport's `start` passes it on.
    func open(_ observer: any LinkObserver) throws
    /// Takes the packet for the lane that it names.
    /// - Throws: `full`, `unreachable`, `oversized` or `closed`; the packet was not taken then. Who throws `unreachable`
    ///   for a live lane of a connection that it has told of says `disconnected` as well, once what the peer had sent
    ///   before has been passed on; nothing more is sent there until then.
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError)
    /// Ends the live lanes of an address whose bytes make no sense, and says `disconnected`; it may connect anew later.
    func disconnect(_ address: LinkAddress)
    /// Whether the peer of that id is a device of the same user. The user has said so while pairing, or the link connects nothing
    /// else. Sessions let such peers in without an invitation. May be called on any thread, with locks held: must look at memory
    /// only. The default is false: the link can't tell.
    func isOwn(_ peerID: String) -> Bool
    /// The IDs of the peers that the user has revoked as lost: now, and after each change; a stream for each call. Such a peer must
    /// not come in, not as a guest either. The default is nil: the link has no keys, so no peer can be revoked.
    func revokedPeers() -> AsyncStream<Set<String>>?
    /// The unsolved problems of the link, such as a missing watch. The transport's `problems` begin with them. Must be observable, and
    /// may be read on any thread. The default is none.
    var problems: [SessionProblem] { get }
    /// Hands what was taken to the other side as far as that is possible within about a second, then ends. Idempotent.
    func close() async
}

extension TransportLink {
    public var traits: LinkTraits { LinkTraits() }
    /// Does nothing: the default for links without connections.
    public func disconnect(_ address: LinkAddress) {}
    public func isOwn(_ peerID: String) -> Bool { false }
    public func revokedPeers() -> AsyncStream<Set<String>>? { nil }
    public var problems: [SessionProblem] { [] }
}

/// The promise that a link makes for packets on a lane.
public enum LinkLane: String, Hashable, Sendable, CaseIterable, Codable {
    /// Now or never: a packet may be lost, doubled or overtaken, and is never cut.
    case datagram
    /// Everything arrives once and in order while connected. A packet may be cut or joined with others on the way: what
    /// the peer receives is the same bytes in other pieces.
    case stream
    /// The platform keeps packets and delivers each when it can, in order, also long after either side has gone.
    case queue
    /// The platform keeps the newest packet of each key and delivers it when it can.
    case latest
    /// Delivers like `queue`, for large packets that may take their time.
    case file

    /// Works only while the address is connected; the others work from the moment that it is known.
    public var isLive: Bool { self == .datagram || self == .stream }
}

/// The properties of a link that callers of a transport may want to know.
public struct LinkTraits: Hashable, Sendable {
    /// The usual time between a send and its arrival.
    public var expectedLatency: SessionExpectedLatency
    /// Peers need not be named to the link.
    public var discoversPeers: Bool
    /// Whether the link returns this peer's own packets, and there is no other peer.
    public var returnsOwnPackets: Bool
    /// Whether only the peer itself can read what is sent to it, or speak in its name, on any lane.
    public var isSecured: Bool
    /// Every address is told with the id of the peer that has been proven to be there. Delivery refuses others.
    public var provesPeers: Bool
    /// The longest time between two signs of life of an idle connection. A peer that dies silently is noticed soon after it.
    /// At least a second; less counts as that.
    public var idleInterval: Duration

    /// A live link that finds its peers and proves nothing of them, unless told otherwise.
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

    /// Takes any text that the link understands.
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { self.init(value) }

    public var description: String { rawValue }
}

/// The bytes that a link sends at once on one lane.
public struct LinkPacket: Hashable, Sendable {
    /// The way that it takes.
    public var lane: LinkLane
    /// The bytes to send: at most the link's limit for the lane.
    public var bytes: [UInt8]
    /// The name of the earlier packet that this one replaces on the lane `latest`. Empty on other lanes.
    public var key: String

    /// A packet for one lane.
    public init(lane: LinkLane, bytes: [UInt8], key: String = "") {
        self.lane = lane
        self.bytes = bytes
        self.key = key
    }
}

/// The receiver of a link's events. Implemented by the transport; safe to call from any thread.
public protocol LinkObserver: AnyObject, Sendable {
    /// Reports a peer to which lanes that the platform keeps can send from now on. Must come before packets on them: a
    /// packet from an address that was neither found nor connected is dropped.
    /// - Parameter peerID: the id that the link has proven for that address, on every lane; nil if it proves none, so that delivery
    ///   believes the greeting.
    func found(_ address: LinkAddress, as peerID: String?)
    /// Live lanes work from now on, and begin anew: nothing of an earlier connection arrives on them any more. Where
    /// connections begin on other threads than those that send, give each an address of its own, so that no packet for one
    /// that has ended reaches the next.
    /// - Parameter peerID: the ID that the link has proven; nil if it proves none, and the peer's own statement counts.
    func connected(_ address: LinkAddress, as peerID: String?)
    /// Reports a connected peer that is a guest only (`GuestAdmittingLink`). The default does nothing, for observers
    /// without guests.
    func connected(_ address: LinkAddress, asGuest peerID: String)
    /// Bytes that the peer sent: on `stream` any piece of what it wrote, elsewhere one whole packet.
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress)
    /// Datagrams that arrived together, at best no more than 256, cheaper than one by one. By default one by one.
    func received(datagrams: [[UInt8]], from address: LinkAddress)
    /// The platform says that a packet of a live lane has not been delivered. May be told of none; by default nothing
    /// follows from it.
    func undelivered(_ packet: LinkPacket, to address: LinkAddress)
    /// There is room again after `send` threw `full`.
    func writable(_ address: LinkAddress)
    /// Live lanes work no longer.
    /// - Parameter reason: what went wrong; nil for an end in good order.
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

/// Why a link did not take a packet.
public struct LinkError: CodedError, Hashable {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// No room now; `writable` follows.
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
