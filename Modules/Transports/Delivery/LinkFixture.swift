public import MeshBus
public import MeshTransport

/// How a link shows itself to whoever examines it. A link plugin contributes one to `ExtensionPoint.linkFixtures`; the
/// conformance rules of MeshTesting run against the link itself and against `LinkTransport`s over it.
///
/// ```swift
/// registry.add(LinkFixture { _ in
///     let (left, right) = try RadioLink.makePair()
///     return LinkGroup([left, right])
/// }, to: .linkFixtures)
/// ```
public struct LinkFixture: Sendable {
    /// How many links one group can have: 1 where own packets come back, 2 for a link between two.
    public let countMax: Int
    /// How many times a rule calls `settle` for one expectation before it gives up, half a second later.
    public let patience: Int
    /// How the transports over these links work. The codec is set by whoever examines.
    public let configuration: DeliveryConfiguration
    /// Makes so many links, none of them open, that can reach each other. Called at least once for each rule; what it
    /// makes is closed afterwards.
    public let makeLinks: @Sendable (_ count: Int) async throws -> LinkGroup

    /// A link that `makeLinks` makes in groups of two to `countMax`.
    public init(
        countMax: Int = 2, patience: Int = 20_000, configuration: DeliveryConfiguration = .init(),
        makeLinks: @escaping @Sendable (_ count: Int) async throws -> LinkGroup
    ) {
        self.countMax = countMax
        self.patience = patience
        self.configuration = configuration
        self.makeLinks = makeLinks
    }
}

/// Links that can reach each other, and the hands that connect them and move their time.
public struct LinkGroup: Sendable {
    /// As many as were asked for, in the order of `peerIDs`.
    public let links: [any TransportLink]
    /// Who each proves to be to the others, where links prove that; nil lets whoever examines choose.
    public let peerIDs: [String]?
    /// Lets them meet once they are open; nil where opening them is enough.
    public let connect: (@Sendable () async throws -> Void)?
    /// Ends their connections until the next `connect`; nil where that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// What the links' time is; transports over them use it too.
    public let clock: any DeliveryClock
    /// Lets a little time pass, virtual or real, in which packets may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

    /// - Parameters:
    ///   - peerIDs: one for each link, the same at every call of `makeLinks`.
    ///   - settle: by default a fraction of a millisecond of real time.
    public init(
        _ links: [any TransportLink], peerIDs: [String]? = nil, connect: (@Sendable () async throws -> Void)? = nil,
        disconnect: (@Sendable () async throws -> Void)? = nil, clock: any DeliveryClock = SystemClock(),
        settle: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .microseconds(200)) }
    ) {
        self.links = links
        self.peerIDs = peerIDs
        self.connect = connect
        self.disconnect = disconnect
        self.clock = clock
        self.settle = settle
    }
}

extension ExtensionPoint where Value == LinkFixture {
    /// Where links offer themselves for examination.
    public static let linkFixtures = ExtensionPoint("sessionmesh.link-fixtures")
}
