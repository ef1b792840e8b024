import MeshBus
import MeshIdentity
import MeshTesting
import MeshWire
import Testing

@testable import PluginsToolKit

private struct PlainPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(id: "core.plain", kind: .core, module: "Plain", version: "1.0.0", summary: "Nothing")
    }
}

@Suite("Examining plugins")
struct VerificationTests {
    @Test("a plugin that can't be examined is an error of one line that says why")
    func errors() throws {
        let bus = try PluginBus { PlainPlugin() }
        #expect {
            try Verification(of: "core.plane", on: bus)
        } throws: { "\($0)" == "there is no plugin 'core.plane'; did you mean core.plain? `list` lists them" }
        #expect {
            try Verification(of: "core.plain", on: bus)
        } throws: { "\($0)".hasPrefix("'core.plain' can't be examined; these can: ") }
        #expect {
            try Verification(of: nil, on: bus)
        } throws: { "\($0)".hasPrefix("no codec is registered") }
    }
    @Test("a codec is examined by every codec rule, under its plugin's id")
    func codecs() async throws {
        let bus = try PluginBus {
            JSONCodecPlugin()
            CompactCodecPlugin()
            PlainPlugin()
        }
        #expect(try Verification(of: nil, on: bus).codecs.map(\.plugin) == ["codec.json", "codec.compact"])
        let rows = try await Verification(of: "codec.compact", on: bus).rows { #expect($0 == "codec.compact") }
        #expect(rows.map(\.rule) == CodecConformance.rules.map(\.id))
        #expect(Set(rows.map(\.plugin)) == ["codec.compact"])
        #expect(rows.filter { $0.outcome != .passed } == [])
        #expect {
            try Verification(of: "core.plain", on: bus)
        } throws: { "\($0)" == "'core.plain' can't be examined; these can: codec.compact, codec.json" }
    }
}
