import Foundation
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshToolOutput
import MeshWire
import Testing

@testable import PluginsToolKit

private let small = PayloadLimit(id: "udp.safe", bytes: 1_200, summary: "A datagram", source: "RFC 9000")
private let large = PayloadLimit(id: "mqtt", bytes: 268_435_455, summary: "A packet", source: "MQTT 5.0")

private struct SamplePlugin: Plugin {
    var id: PluginID
    var limits: [PayloadLimit] = []
    var benchmark: String?

    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: id, kind: .transport, module: "Sample", version: "1.2.3", summary: "A sample", limits: limits)
    }

    func contribute(to registry: inout ExtensionRegistry) {
        guard let benchmark else { return }
        registry.add(BenchmarkCase(id: benchmark, summary: "A case") { _ in [] }, to: .benchmarks)
    }
}

@Suite("Listing plugins")
struct ListingTests {
    private let bus = try! PluginBus {
        SamplePlugin(id: "transport.mqtt", limits: [large, small], benchmark: "hops")
        SamplePlugin(id: "transport.udp", limits: [small])
    }

    @Test("a limit is one row that names every plugin under it, smallest first")
    func limits() {
        let rows = LimitRow.rows(of: bus.descriptors)
        #expect(rows.map(\.id) == ["udp.safe", "mqtt"])
        #expect(rows.map(\.plugins) == [["transport.mqtt", "transport.udp"], ["transport.mqtt"]])
    }

    @Test("an unknown plugin is an error of one line with the nearest names")
    func unknownPlugin() throws {
        #expect(try bus.descriptor(named: "transport.udp").limits == [small])
        for name in ["transport.upd", "udp", "transport.ud"] {
            #expect {
                try bus.descriptor(named: name)
            } throws: {
                "\($0)" == "there is no plugin '\(name)'; did you mean transport.udp? `list` lists them"
            }
        }
        #expect {
            try bus.descriptor(named: "codec")
        } throws: { "\($0)" == "there is no plugin 'codec'; `list` lists them" }
    }

    @Test("an unknown benchmark is an error of one line that lists the known ones")
    func unknownBenchmark() throws {
        #expect(try bus.benchmarks(named: []).map(\.id) == ["hops"])
        #expect(try bus.benchmarks(named: ["hops"]).count == 1)
        #expect {
            try bus.benchmarks(named: ["hops", "hop"])
        } throws: { "\($0)" == "there is no benchmark 'hop'; there are: hops" }
    }

    @Test("a plugin's contributions are listed by kind and name")
    func contributions() {
        #expect(bus.contributions(of: "transport.mqtt") == ["benchmark hops"])
        #expect(bus.contributions(of: "transport.udp").isEmpty)
    }

    @Test("list rows have the documented keys")
    func listKeys() throws {
        let json = try Report(rows: bus.descriptors).json()
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [[String: Any]]]
        let row = try #require(object?["rows"]?.first)
        #expect(
            Set(row.keys) == [
                "id", "kind", "module", "version", "summary", "requires", "capabilities", "limits",
            ])
        #expect(row["id"] as? String == "transport.mqtt")
        #expect((row["limits"] as? [[String: Any]])?.first?["bytes"] as? Int == 268_435_455)
    }
}
