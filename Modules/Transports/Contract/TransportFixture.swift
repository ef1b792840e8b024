public import MeshBus
public import MeshIdentity

/// A factory that shows a transport to the conformance rules: it makes a pair of ends and lets time pass between them.
///
/// A transport plugin contributes one to `ExtensionPoint.transportFixtures`; the conformance rules of MeshTesting run
/// against it. The author of a link contributes MeshDelivery's `LinkFixture` instead and gets all of this for it.
public struct TransportFixture: Sendable {
    /// Maximum number of times that a rule calls `settle`, half a second apart, before it gives up an expectation.
    public let patience: Int
    /// Makes a pair that has not met yet and writes payloads with that codec, if it writes any. Called once for each
    /// rule; what it makes is closed afterwards.
    public let makePair: @Sendable (any PayloadCodec) async throws -> TransportPair

    /// A transport that makes pairs. `makePair` is given the codec that both ends are to write.
    public init(
        patience: Int = 200, makePair: @escaping @Sendable (any PayloadCodec) async throws -> TransportPair
    ) {
        self.patience = patience
        self.makePair = makePair
    }
}

/// Two ends of one transport, and the hands that connect them and move their time.
public struct TransportPair: Sendable {
    /// The first transport of the pair.
    public let first: any SessionSyncTransport
    /// The other end; the same as `first` where own sends come back.
    public let second: any SessionSyncTransport
    /// A third peer that both know, if the transport joins more than two.
    public let bystander: (any SessionSyncTransport)?
    /// Whether a transport receives what it sends itself.
    public let ownSendsComeBack: Bool
    /// The limit that this pair is under, if it is under one.
    public let limit: PayloadLimit?
    /// Connects the two ends. Must return once it has begun; the rules settle afterwards. Called again after
    /// `disconnect`.
    public let connect: @Sendable () async throws -> Void
    /// Separates them again; nil where that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// Lets a little time pass, virtual or real, in which messages may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

    /// Whether the link below proves to each end who the other is.
    public var provesPeers = false
    /// Whether they can meet again after `disconnect`.
    public var reconnects = false
    /// The faults that can be injected into the link below. Rules that need them are skipped if it is nil.
    public var faults: TransportFaults?
    /// Makes one more pair, whose ends have stores and can be relaunched; nil where nothing can be stored.
    public var makeDurable: (@Sendable () async throws -> TransportPair)?
    /// Ends both processes as a crash does and begins them anew, not connected, each with what its store has kept. The
    /// pair that it is asked of is of no use afterwards.
    public var relaunch: (@Sendable () async throws -> TransportPair)?
    /// Makes one more pair, of which a subscriber that doesn't read holds `narrowLimit` envelopes; nil where that can't be chosen.
    package var makeNarrow: (@Sendable () async throws -> TransportPair)?
    /// Maximum number of envelopes that wait for a slow subscriber of a narrow pair.
    package static let narrowLimit = 32
    /// Makes one more group, of so many peers that all meet in `connect`; nil where only two can be joined.
    public var makeCrowd: (@Sendable (_ count: Int) async throws -> TransportCrowd)?

    /// Two ends that are not connected yet. What is nil is not examined.
    public init(
        first: any SessionSyncTransport, second: any SessionSyncTransport,
        bystander: (any SessionSyncTransport)? = nil, ownSendsComeBack: Bool = false, limit: PayloadLimit? = nil,
        connect: @escaping @Sendable () async throws -> Void,
        disconnect: (@Sendable () async throws -> Void)? = nil, settle: @escaping @Sendable () async -> Void
    ) {
        self.first = first
        self.second = second
        self.bystander = bystander
        self.ownSendsComeBack = ownSendsComeBack
        self.limit = limit
        self.connect = connect
        self.disconnect = disconnect
        self.settle = settle
    }
}

/// Many ends of one transport.
public struct TransportCrowd: Sendable {
    /// The ends, in no order that matters.
    public let ends: [any SessionSyncTransport]
    /// Lets them all meet; the rules settle afterwards.
    public let connect: @Sendable () async throws -> Void
    /// Lets time pass, as `TransportPair.settle` does.
    public let settle: @Sendable () async -> Void

    /// Ends that are not connected yet.
    public init(
        ends: [any SessionSyncTransport], connect: @escaping @Sendable () async throws -> Void,
        settle: @escaping @Sendable () async -> Void
    ) {
        self.ends = ends
        self.connect = connect
        self.settle = settle
    }
}

/// The faults that can be injected into the link below a pair of transports.
public struct TransportFaults: Sendable {
    /// The lanes that the link promises.
    public let lanes: Set<LinkLane>
    /// Ends the connection as a broken cable does: what is under way is lost, and both sides are told.
    public let cut: @Sendable () -> Void
    /// A new connection after `cut`.
    public let mend: @Sendable () -> Void
    /// Lets this many more bytes through on live lanes, in the middle of a packet if need be. The link then takes and
    /// loses the rest without an error, until `mend` or the next call. nil lets everything through again.
    public let swallow: @Sendable (_ afterBytes: Int?) -> Void
    /// So many more packets are taken before the link says that it is full; nil for any number, and says so.
    public let setRoom: @Sendable (_ packets: Int?) -> Void
    /// Hands bytes to the second end as if the first had sent them. Lanes that are not live come in whole packets.
    public let inject: @Sendable (_ bytes: [UInt8], LinkLane) -> Void
    /// Loses, duplicates and reorders packets on the lane `datagram`, each with that probability. 0 ends it.
    public let disturb: @Sendable (_ probability: Double) -> Void
    /// Moves the clock on the wall of both ends, either way.
    public let jumpClock: @Sendable (Duration) -> Void
    /// While held, no time passes for both ends: what they do after a time is not done, however busy the machine is.
    public let holdTime: @Sendable (Bool) -> Void

    /// The hands of a link that its fixture can bend.
    public init(
        lanes: Set<LinkLane>, cut: @escaping @Sendable () -> Void, mend: @escaping @Sendable () -> Void,
        swallow: @escaping @Sendable (_ afterBytes: Int?) -> Void,
        setRoom: @escaping @Sendable (_ packets: Int?) -> Void,
        inject: @escaping @Sendable (_ bytes: [UInt8], LinkLane) -> Void,
        disturb: @escaping @Sendable (_ probability: Double) -> Void,
        jumpClock: @escaping @Sendable (Duration) -> Void,
        holdTime: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.lanes = lanes
        self.cut = cut
        self.mend = mend
        self.swallow = swallow
        self.setRoom = setRoom
        self.inject = inject
        self.disturb = disturb
        self.jumpClock = jumpClock
        self.holdTime = holdTime
    }
}

extension ExtensionPoint where Value == TransportFixture {
    /// The extension point at which transports register for the conformance rules.
    public static let transportFixtures = ExtensionPoint("sessionmesh.transport-fixtures")
}

// MARK: - Wrappers

/// Wraps a transport, for the conformance rules.
package struct TransportWrapping: Sendable {
    package let wrap: @Sendable (any SessionSyncTransport) -> any SessionSyncTransport

    package init(_ wrap: @escaping @Sendable (any SessionSyncTransport) -> any SessionSyncTransport) {
        self.wrap = wrap
    }
}

extension ExtensionPoint where Value == TransportWrapping {
    /// Where wrappers offer themselves for examination, over each transport of the bus.
    package static let transportWrappers = ExtensionPoint("sessionmesh.transport-wrappers")
}

extension TransportFixture {
    /// Returns a fixture whose transports are each in a wrapper. Run the conformance rules on every wrapper this way.
    public func wrapped(
        by wrap: @escaping @Sendable (any SessionSyncTransport) -> any SessionSyncTransport
    ) -> TransportFixture {
        TransportFixture(patience: patience) { try await makePair($0).wrapped(by: wrap) }
    }
}

extension TransportPair {
    fileprivate func wrapped(
        by wrap: @escaping @Sendable (any SessionSyncTransport) -> any SessionSyncTransport
    ) -> TransportPair {
        let end = wrap(first)
        var pair = TransportPair(
            first: end, second: ownSendsComeBack ? end : wrap(second), bystander: bystander.map(wrap),
            ownSendsComeBack: ownSendsComeBack, limit: limit, connect: connect, disconnect: disconnect, settle: settle)
        (pair.provesPeers, pair.reconnects, pair.faults) = (provesPeers, reconnects, faults)
        if let makeDurable { pair.makeDurable = { try await makeDurable().wrapped(by: wrap) } }
        if let makeNarrow { pair.makeNarrow = { try await makeNarrow().wrapped(by: wrap) } }
        if let relaunch { pair.relaunch = { try await relaunch().wrapped(by: wrap) } }
        if let makeCrowd {
            pair.makeCrowd = { count in
                let crowd = try await makeCrowd(count)
                return TransportCrowd(ends: crowd.ends.map(wrap), connect: crowd.connect, settle: crowd.settle)
            }
        }
        return pair
    }
}
