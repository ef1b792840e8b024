public import MeshBus

/// Registers MeshRegister.
public struct RegisterPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.register", kind: .core, module: "MeshRegister", version: "0.1.0",
            summary: "Last-writer-wins registers with their versions, for shared state and for keys",
            requires: ["core.identity"])
    }
}
