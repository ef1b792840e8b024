import FileDrop
import MeshBus
import MeshDelivery
import MeshTesting
import Testing

@Test func `The file drop keeps every rule for transports`() async throws {
    let bus = try PluginBus(plugins: FileDropPlugin.withRequirements)
    for fixture in bus.contributions(to: .linkFixtures) {
        let report = await TransportConformance.examine(fixture.value, as: fixture.plugin)
        #expect(report.failures == [])
    }
}
