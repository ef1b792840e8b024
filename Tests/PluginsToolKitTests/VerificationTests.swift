import MeshBus
import Testing

@testable import PluginsToolKit

private struct PlainPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(id: "core.plain", kind: .core, module: "Plain", version: "1.0.0", summary: "Nothing")
    }
}

@Suite("Examining plugins")
struct VerificationTests {
    @Test("what cannot be examined is one line that says why")
    func errors() throws {
        let bus = try PluginBus { PlainPlugin() }
        #expect {
            try Verification(of: "core.plane", on: bus)
        } throws: { "\($0)" == "there is no plugin 'core.plane'; did you mean core.plain? `list` shows what there is" }
        #expect {
            try Verification(of: "core.plain", on: bus)
        } throws: { "\($0)".hasPrefix("'core.plain' offers nothing to examine") }
        #expect {
            try Verification(of: nil, on: bus)
        } throws: { "\($0)".hasPrefix("no codec is registered") }
    }
}
