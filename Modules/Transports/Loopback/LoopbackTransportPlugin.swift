public import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTransport

/// A plugin that registers MeshLoopbackTransport.
public struct LoopbackTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.loopback", kind: .transport, module: "MeshLoopbackTransport", version: "0.1.0",
            summary: "Own sends come back: a whole session in one process",
            requires: ["core.transport"], capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast"])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(LinkFixture(countMax: 1) { _ in LinkGroup([LoopbackLink()]) }, to: .linkFixtures)
        registry.add(
            TransportFixture(patience: 1000) { codec in
                var pair = makePair(codec, bufferLimit: 4096)
                pair.makeNarrow = { makePair(codec, bufferLimit: TransportPair.narrowLimit) }
                return pair
            }, to: .transportFixtures)
    }

    private func makePair(_ codec: any PayloadCodec, bufferLimit: Int) -> TransportPair {
        let limit = PayloadLimit(
            id: "loopback.fixture", bytes: 65_536, summary: "a payload in the conformance rules",
            source: "chosen; a loopback without a budget carries any size")
        let transport = LoopbackSessionSyncTransport(
            localPeer: SessionPeer(
                id: "loopback", deviceClass: .unknown, appInstanceID: "fixture", topology: .sameHost),
            budget: PayloadBudget(limit: limit, codec: codec), bufferLimit: bufferLimit)
        return TransportPair(
            first: transport, second: transport, ownSendsComeBack: true, limit: limit, connect: {},
            settle: { await Task.yield() })
    }
}
