public import MeshBus

/// Registers MeshEngine.
public struct EnginePlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.engine", kind: .core, module: "MeshEngine", version: "0.1.0",
            summary: "One feature's state as a pure value that every peer reduces alike",
            requires: ["core.identity"])
    }
}
