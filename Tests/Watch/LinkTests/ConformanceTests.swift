import MeshBus
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTesting
import MeshTransport
import MeshWatchConnectivityTransport
import MeshWire
import Testing

@Test func `The link over WatchConnectivity keeps every rule that its lanes promise`() async throws {
    let bus = try PluginBus {
        StoragePlugin()
        DeliveryPlugin()
        WatchConnectivityTransportPlugin()
    }
    let fixtures = bus.contributions(to: .linkFixtures)
    #expect(fixtures.count == 1)
    for fixture in fixtures {
        // Other tests use the same thread, so real time isn't reliable. Tests/suite ends a process that hangs.
        let report = await TransportConformance.examine(
            fixture.value, as: fixture.plugin, limit: .seconds(86_400))
        #expect(report.failures == [])
    }
}
