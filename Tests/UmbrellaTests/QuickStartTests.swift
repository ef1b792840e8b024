import Foundation
// Nothing else: the umbrella alone must be enough.
import SessionMesh
import Testing

/// The README's quick start, which must compile and do what it says.
struct Score: Codable, Sendable, Equatable { var home = 0, away = 0 }
enum Goal: Codable, Sendable { case home, away }

struct ScoreReducer: SessionSyncReducer {
    func reduce(state: inout Score, event: Goal, context: SessionEventContext) {
        switch event {
        case .home: state.home += 1
        case .away: state.away += 1
        }
    }
}

@MainActor @Suite struct QuickStartTests {
    @Test func `the README's quick start keeps two devices on one score`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let gameID = UUID()
        func device(_ name: String) -> SyncedSession<Score, Goal, ScoreReducer, AcceptingConflictPolicy<Score, Goal>> {
            let peer = SessionPeer(id: name, deviceClass: .phone, appInstanceID: name, topology: .localNetwork)
            let transport = network.makeTransport(localPeer: peer)
            let game = SyncedSession(
                sessionID: gameID, featureID: "score", transport: transport,
                initialState: Score(), reducer: ScoreReducer(), conflictPolicy: AcceptingConflictPolicy<Score, Goal>())
            game.start()
            return game
        }
        let mine = device("mine")
        let yours = device("yours")
        try mine.submit(.home, at: .now)
        #expect(mine.state == Score(home: 1, away: 0))
        while yours.state != mine.state {
            network.advance(by: .milliseconds(10))
            await Task.yield()
        }
        #expect(yours.state == mine.state)
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
