import MeshBus

struct Mishap: Error, Equatable {}

/// A plugin that contributes a word, and fails if `isFailing`.
struct Probe: Plugin {
    let id: PluginID
    var requires: [PluginID] = []
    var limits: [PayloadLimit] = []
    var isFailing = false
    var module = "Tests"

    static let words = ExtensionPoint<String>("tests.words")

    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: id, kind: .testing, module: module, version: "1.0.0", summary: "a probe", requires: requires,
            limits: limits)
    }

    func contribute(to registry: inout ExtensionRegistry) throws {
        if isFailing { throw Mishap() }
        registry.add("from \(id)", to: Self.words)
    }
}
