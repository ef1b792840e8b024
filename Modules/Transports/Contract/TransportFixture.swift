public import MeshBus
public import MeshIdentity

/// A factory that makes a transport testable by the conformance rules: it creates a pair of ends and lets time pass
/// between them.
///
/// A transport plugin contributes one to `ExtensionPoint.transportFixtures`; the conformance rules of MeshTesting run
/// against it. The author of a link contributes MeshDelivery's `LinkFixture` instead, which includes all of this.
public struct TransportFixture: Sendable {
    /// Number of calls of `settle` after which an expectation fails, unless it is met within another 10 s of real time.
    public let patience: Int
    /// Makes an unconnected pair whose ends encode payloads with that codec, if they encode any. Called once for each
    /// rule, which closes the pair afterwards.
    public let makePair: @Sendable (any PayloadCodec) async throws -> TransportPair

    /// Creates a fixture from a function that makes pairs. `makePair` gets the codec that both ends must use.
    public init(
        patience: Int = 200, makePair: @escaping @Sendable (any PayloadCodec) async throws -> TransportPair
    ) {
        self.patience = patience
        self.makePair = makePair
    }
}

/// Two ends of one transport, with functions to connect them and to advance their time.
public struct TransportPair: Sendable {
    /// The first transport of the pair.
    public let first: any SessionSyncTransport
    /// The other end; identical to `first` if own sends come back.
    public let second: any SessionSyncTransport
    /// A third peer that both know, if the transport connects more than two peers.
    public let bystander: (any SessionSyncTransport)?
    /// True if a transport receives its own messages.
    public let ownSendsComeBack: Bool
    /// The payload limit of this pair, if it has one.
    public let limit: PayloadLimit?
    /// Connects the two ends. Must return once connecting has begun; the rules then call `settle`. Called again after
    /// `disconnect`.
    public let connect: @Sendable () async throws -> Void
    /// Disconnects the two ends; nil if that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// Lets a little virtual or real time pass, in which messages may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

    /// True if the link below proves to each end the identity of the other.
    public var provesPeers = false
    /// True if the ends can connect again after `disconnect`.
    public var reconnects = false
    /// The faults that can be injected into the link below. Rules that need them are skipped if it is nil.
    public var faults: TransportFaults?
    /// Makes another pair, whose ends have stores and can be relaunched; nil if nothing can be stored.
    public var makeDurable: (@Sendable () async throws -> TransportPair)?
    /// Ends both processes like a crash and restarts them, disconnected, each with the contents of its store. The
    /// original pair can't be used afterwards.
    public var relaunch: (@Sendable () async throws -> TransportPair)?
    /// Makes another pair, in which at most `narrowLimit` envelopes wait for a subscriber that doesn't read; nil if
    /// that limit can't be set.
    package var makeNarrow: (@Sendable () async throws -> TransportPair)?
    /// Maximum number of envelopes that wait for a slow subscriber of a narrow pair.
    package static let narrowLimit = 32
    /// Makes a group of that many peers, which all connect in `connect`; nil if only two can be connected.
    public var makeCrowd: (@Sendable (_ count: Int) async throws -> TransportCrowd)?

    /// Creates a pair of two unconnected ends. Rules that need a part that is nil are skipped.
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
    /// The ends, in any order.
    public let ends: [any SessionSyncTransport]
    /// Connects all ends; the rules then call `settle`.
    public let connect: @Sendable () async throws -> Void
    /// Lets time pass, as `TransportPair.settle` does.
    public let settle: @Sendable () async -> Void

    /// Creates a group of unconnected ends.
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
    /// The lanes of the link.
    public let lanes: Set<LinkLane>
    /// Ends the connection like a broken cable: messages in flight are lost, and both sides are notified.
    public let cut: @Sendable () -> Void
    /// Connects the ends again after `cut`.
    public let mend: @Sendable () -> Void
    /// Lets this many more bytes through on live lanes, even if that splits a packet. After that the link accepts
    /// packets and loses them without an error, until `mend` or the next call. nil lets everything through again.
    public let swallow: @Sendable (_ afterBytes: Int?) -> Void
    /// Lets the link accept this many more packets before it is full. nil removes the limit, and reports space.
    public let setRoom: @Sendable (_ packets: Int?) -> Void
    /// Passes bytes to the second end as if the first had sent them. On lanes that aren't live they are complete
    /// packets.
    public let inject: @Sendable (_ bytes: [UInt8], LinkLane) -> Void
    /// Loses, duplicates and reorders packets on the lane `datagram`, each with that probability. 0 ends it.
    public let disturb: @Sendable (_ probability: Double) -> Void
    /// Moves the wall clock of both ends, in either direction.
    public let jumpClock: @Sendable (Duration) -> Void
    /// Stops time for both ends while true: their timers don't fire, however busy the machine is.
    public let holdTime: @Sendable (Bool) -> Void

    /// Creates the fault injection of a link that its fixture controls.
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
    /// The extension point for wrappers. The conformance rules test each wrapper over every registered transport.
    package static let transportWrappers = ExtensionPoint("sessionmesh.transport-wrappers")
}

extension TransportFixture {
    /// Returns a fixture that wraps each of its transports. Use it to run the conformance rules on a wrapper.
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
