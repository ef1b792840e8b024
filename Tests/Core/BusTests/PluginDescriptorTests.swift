import Foundation
import MeshBus
import Testing

@Suite struct PluginDescriptorTests {
    @Test func `A descriptor survives JSON, its ids as plain strings`() throws {
        let descriptor = PluginDescriptor(
            id: "transport.pipe", kind: .transport, module: "MeshPipeTransport", version: "0.1.0", summary: "pipes",
            requires: ["core.wire"], capabilities: ["realtime"],
            limits: [PayloadLimit(id: "pipe.frame", bytes: 7, summary: "frame", source: "chosen")])
        let data = try JSONEncoder().encode(descriptor)
        #expect(try JSONDecoder().decode(PluginDescriptor.self, from: data) == descriptor)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object["id"] as? String == "transport.pipe")
        #expect(object["kind"] as? String == "transport")
        #expect(object["requires"] as? [String] == ["core.wire"])
    }

    @Test func `Ids order and print by their text`() {
        #expect((["b", "a", "c"] as [PluginID]).sorted() == ["a", "b", "c"])
        #expect("\(PluginID("x.y"))" == "x.y")
        #expect(PluginKind(rawValue: "mine") == "mine")
    }

    @Test func `A required module that contributes nothing registers by itself, after what it requires`() throws {
        struct Beside: Plugin {
            let descriptor = PluginDescriptor(
                id: "codec.beside", kind: .codec, module: "Beside", version: "1.0.0", summary: "",
                requires: ["core.wire"])
        }
        let bus = try PluginBus { Beside() }
        #expect(bus.descriptors.map(\.id) == ["core.identity", "core.wire", "codec.beside"])
        let listed = try PluginBus {
            ModulePlugin.all.filter { $0.descriptor.id == "core.wire" }
            Beside()
        }
        #expect(listed.descriptors == bus.descriptors)
    }
}
