import MeshBus
import MeshDelivery
import MeshIdentity
import MeshLoopbackTransport
import MeshScenarioTransport
import MeshStorage
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import SessionMeshWatchConnectivity

@Suite struct CounterpartConformanceTests {
    @Test(
        "The way to the counterpart keeps the promises of the transport that it wraps",
        arguments: ["transport.loopback", "transport.scenario"] as [PluginID])
    func conforms(transport: PluginID) async throws {
        let bus = try PluginBus {
            StoragePlugin()
            DeliveryPlugin()
            LoopbackTransportPlugin()
            ScenarioTransportPlugin()
        }
        let fixture = try #require(
            bus.contributions(to: .transportFixtures).first { $0.plugin == transport }?.value)
        // Other tests use the same thread, so real time isn't reliable. Tests/suite ends a process that hangs.
        let report = await TransportConformance.examine(
            fixture.wrapped { CounterpartTransport(silentOver: $0) }, as: transport, limit: .seconds(86_400))
        #expect(report.failures == [])
    }
}
