public import MeshBus
public import MeshTransport

/// A factory that shows a link to the conformance rules. A link plugin contributes one to
/// `ExtensionPoint.linkFixtures`; the conformance rules of MeshTesting run against the link itself and against
/// `LinkTransport`s over it.
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
    /// Maximum number of times that a rule calls `settle`, half a second apart, before it gives up an expectation.
    public let patience: Int
    /// The configuration of the transports over these links. The rules set the codec.
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
    /// The links of the group, as many as were asked for, in the order of `peerIDs`.
    public let links: [any TransportLink]
    /// The peer ID that each link proves to the others, for links that prove one. nil lets the rules choose.
    public let peerIDs: [String]?
    /// Lets them meet once they are open; nil where opening them is enough.
    public let connect: (@Sendable () async throws -> Void)?
    /// Ends their connections until the next `connect`; nil where that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// The clock of the links, which the transports over them use too.
    public let clock: any DeliveryClock
    /// Lets a little time pass, virtual or real, in which packets may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

    /// Creates a group of links that can reach each other.
    ///
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
    /// The extension point at which links register for the conformance rules.
    public static let linkFixtures = ExtensionPoint("sessionmesh.link-fixtures")
}
