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
        let report = await TransportConformance.examine(fixture.value, as: fixture.plugin)
        #expect(report.failures == [])
    }
}
