public import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTransport

/// A plugin that registers MeshScenarioTransport.
public struct ScenarioTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.scenario", kind: .transport, module: "MeshScenarioTransport", version: "0.2.0",
            summary: "A network in virtual time from one seed: latency, loss, reordering, partitions, lies, relaunches",
            requires: ["core.delivery"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast", "discovery"],
            limits: Array(ScenarioLanes.network.values).sorted { $0.id < $1.id })
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(
            TransportFixture(patience: 1000) { codec in
                var pair = try makePair(codec)
                pair.makeNarrow = { try makePair(codec, bufferLimit: TransportPair.narrowLimit) }
                return pair
            }, to: .transportFixtures)
        registry.add(LinkFixture(countMax: 100, patience: 5000, makeLinks: makeLinks), to: .linkFixtures)
    }

    private func makeLinks(_ count: Int) -> LinkGroup {
        let network = ScenarioNetwork(seed: 1, conditions: .ideal)
        let peers = (0..<count).map { fixturePeer("end-\($0)", .unknown) }
        return LinkGroup(
            peers.map { network.makeLink(localPeer: $0) }, clock: network.clock,
            settle: {
                network.advance(by: .milliseconds(10))
                // Gives subscribers, which run on other threads, time to read.
                try? await Task.sleep(for: .microseconds(50))
            })
    }

    /// Makes three peers that are disconnected until `connect`. Then phone and watch connect first.
    private func makePair(_ codec: any PayloadCodec, bufferLimit: Int = 4096) throws -> TransportPair {
        let network = ScenarioNetwork(seed: 1)
        let limit = PayloadLimit(
            id: "scenario.fixture", bytes: 65_536, summary: "a payload in the conformance rules",
            source: "chosen; without a budget delivery's own limit holds")
        var configuration = DeliveryConfiguration()
        (configuration.payloadLimit, configuration.codec, configuration.bufferLimit) = (limit, codec, bufferLimit)
        let phone = fixturePeer("phone", .phone)
        let watch = fixturePeer("watch", .watch)
        let tablet = fixturePeer("tablet", .tablet)
        network.partition([phone], [watch], [tablet])
        for peer in [phone, watch] {
            network.setConditions(ScenarioConditions(latency: .fixed(.milliseconds(200))), from: peer, to: tablet)
            network.setConditions(ScenarioConditions(latency: .fixed(.milliseconds(200))), from: tablet, to: peer)
        }
        return TransportPair(
            first: try network.makeTransport(localPeer: phone, configuration: configuration),
            second: try network.makeTransport(localPeer: watch, configuration: configuration),
            bystander: try network.makeTransport(localPeer: tablet, configuration: configuration),
            limit: limit,
            connect: { network.heal() },
            disconnect: { network.partition([phone], [watch]) },
            settle: {
                network.advance(by: .milliseconds(10))
                await Task.yield()
            })
    }

    private func fixturePeer(_ id: String, _ deviceClass: SessionPeerDeviceClass) -> SessionPeer {
        SessionPeer(id: id, deviceClass: deviceClass, appInstanceID: "fixture", topology: .sameHost)
    }
}
