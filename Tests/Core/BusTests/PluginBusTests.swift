import MeshBus
import Testing

@Suite struct PluginBusTests {
    @Test func `Contributions are listed in dependency order, each with its plugin`() throws {
        let bus = try PluginBus {
            Probe(id: "late", requires: ["early"])
            Probe(id: "early")
        }
        let contributions = bus.contributions(to: Probe.words)
        #expect(contributions.map(\.plugin) == ["early", "late"])
        #expect(contributions.map(\.value) == ["from early", "from late"])
    }

    @Test func `A point of the same id and another type is empty`() throws {
        let bus = try PluginBus { Probe(id: "a") }
        #expect(bus.contributions(to: ExtensionPoint<Int>("tests.words")).isEmpty)
        #expect(bus.contributions(to: ExtensionPoint<String>("tests.other")).isEmpty)
    }

    @Test func `A contribution that fails names the plugin and keeps the cause`() {
        let error = #expect(throws: PluginError.self) {
            try PluginBus { Probe(id: "a", isFailing: true) }
        }
        #expect(error?.code == .contributionFailed)
        #expect(error?.plugin == "a")
        #expect(error?.cause is Mishap)
        #expect(error?.description.hasPrefix("contributionFailed: plugin 'a' failed to contribute (") == true)
    }
}
