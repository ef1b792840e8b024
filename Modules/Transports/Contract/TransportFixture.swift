public import MeshBus
public import MeshIdentity

/// How a transport shows itself to whoever examines it: it makes a pair of ends and lets time pass between them.
///
/// A transport plugin contributes one to `ExtensionPoint.transportFixtures`; the conformance rules of MeshTesting run
/// against it.
public struct TransportFixture: Sendable {
    /// How many times a rule may call `settle` for one expectation before it gives up.
    public let patience: Int
    /// Makes a pair that has not met yet and writes payloads with that codec, if it writes any. Called once for each
    /// rule; what it makes is closed afterwards.
    public let makePair: @Sendable (any PayloadCodec) async throws -> TransportPair

    public init(
        patience: Int = 200, makePair: @escaping @Sendable (any PayloadCodec) async throws -> TransportPair
    ) {
        self.patience = patience
        self.makePair = makePair
    }
}

/// Two ends of one transport, and the hands that connect them and move their time.
public struct TransportPair: Sendable {
    public let first: any SessionSyncTransport
    /// The other end; the same as `first` where own sends come back.
    public let second: any SessionSyncTransport
    /// A third peer that both know, if the transport joins more than two.
    public let bystander: (any SessionSyncTransport)?
    /// Whether a transport receives what it sends itself.
    public let ownSendsComeBack: Bool
    /// The limit that this pair is under, if it is under one.
    public let limit: PayloadLimit?
    /// Lets them meet. Must return once it has begun; the rules settle afterwards.
    public let connect: @Sendable () async throws -> Void
    /// Separates them again; nil where that is impossible.
    public let disconnect: (@Sendable () async throws -> Void)?
    /// Lets a little time pass, virtual or real, in which messages may arrive. Must return soon.
    public let settle: @Sendable () async -> Void

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

extension ExtensionPoint where Value == TransportFixture {
    /// Where transports offer themselves for examination.
    public static let transportFixtures = ExtensionPoint("sessionmesh.transport-fixtures")
}
