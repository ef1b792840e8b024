import Foundation
// Nothing else: the umbrella alone must be enough.
import SessionMesh
import Testing

/// The README's feature.
struct Score: SessionFeature {
    static let featureID = "score"
    struct State: Codable, Sendable, Equatable { var home = 0, away = 0 }
    enum Event: Codable, Sendable { case home, away }
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {
        switch event {
        case .home: state.home += 1
        case .away: state.away += 1
        }
    }
}

@MainActor @Suite struct QuickStartTests {
    @Test func `two devices in memory keep one score, in real time`() async throws {
        let (phone, watch) = SessionOf<Score>.pair(Score())
        phone.send(.home)
        #expect(phone.state.home == 1)
        watch.send(.away)
        for session in [phone, watch] {
            try await session.state(within: .seconds(600)) { $0 == Score.State(home: 1, away: 1) }
        }
    }

    @Test func `virtual time drives the ticks of a pair's sessions too`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let (phone, watch) = SessionOf<Score>.pair(Score(), in: network)
        try await network.run { phone.isMember && watch.isMember }
        network.partition([phone.transport.localPeer], [watch.transport.localPeer])
        phone.send(.home)
        await network.run(for: .seconds(60))
        #expect(watch.state.home == 0)
        network.heal()
        try await network.run { watch.state.home == 1 && phone.confirmedCount == 1 }
        #expect(network.elapsed > .seconds(60))
    }

    @Test func `every module of the umbrella registers with one bus`() throws {
        let bus = try PluginBus {
            ModulePlugin.all.filter { described.contains($0.descriptor.module) }
            StoragePlugin()
            DeliveryPlugin()
            DiscoveryPlugin()
            SecurityPlugin()
            LoopbackTransportPlugin()
            ScenarioTransportPlugin()
            PipeTransportPlugin()
            UDPTransportPlugin()
            DiagnosticsPlugin()
            FileTransferPlugin()
            WatchConnectivityTransportPlugin()
        }
        #expect(Set(bus.descriptors.map(\.module)).count == bus.descriptors.count)
        #expect(described.isSubset(of: bus.descriptors.map(\.module)))
    }

    /// Modules that contribute nothing to the bus.
    private let described: Set<String> = [
        "MeshBase", "MeshBus", "MeshIdentity", "MeshTimerAnchor", "MeshWire", "MeshEngine", "MeshTransport",
        "MeshSeries",
        "MeshSession", "MeshConnection", "MeshRequests", "MeshRegister", "MeshSharedState", "MeshKeySync",
    ]
}
