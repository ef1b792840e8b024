public import MeshBus
public import MeshTransport

/// A factory of links for the conformance rules. A link plugin contributes one to `ExtensionPoint.linkFixtures`. The
/// conformance rules of MeshTesting run against the link itself and against `LinkTransport`s over it.
///
/// ```swift
/// registry.add(LinkFixture { _ in
///     let (left, right) = try RadioLink.makePair()
///     return LinkGroup([left, right])
/// }, to: .linkFixtures)
/// ```
public struct LinkFixture: Sendable {
    /// Maximum number of links in one group: 1 if own packets come back, 2 for a link between two peers.
    public let countMax: Int
    /// Number of calls of `settle` after which an expectation fails, unless it is met within another 10 s of real time.
    public let patience: Int
    /// The configuration of the transports over these links. The rules set its codec.
    public let configuration: DeliveryConfiguration
    /// Makes the requested number of unopened links that can reach each other. Called at least once for each rule,
    /// which closes the links afterwards.
    public let makeLinks: @Sendable (_ count: Int) async throws -> LinkGroup

    /// Creates a fixture whose `makeLinks` makes groups of two to `countMax` links.
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

/// Links that can reach each other, with functions to connect them and to advance their time.
public struct LinkGroup: Sendable {
    /// The links of the group, as many as requested, in the order of `peerIDs`.
    public let links: [any TransportLink]
    /// The peer ID that each link proves to the others, for links that prove one. nil lets the rules choose.
    public let peerIDs: [String]?
    /// Connects the open links; nil if opening is enough.
    public let connect: (@Sendable () async throws -> Void)?
    /// Ends the connections until the next `connect`; nil if that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// The clock of the links and of the transports over them.
    public let clock: any DeliveryClock
    /// Lets a little virtual or real time pass, in which packets may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

    /// Creates a group of links that can reach each other.
    ///
    /// - Parameters:
    ///   - peerIDs: one for each link, identical at every call of `makeLinks`.
    ///   - settle: by default waits for a fraction of a millisecond of real time.
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
    /// The extension point at which links register for the conformance rules.
    public static let linkFixtures = ExtensionPoint("sessionmesh.link-fixtures")
}
