public import MeshBus

/// Registers MeshConnection.
public struct ConnectionPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.connection", kind: .core, module: "MeshConnection", version: "0.1.0",
            summary: "What requests, shared state and files have in common on one transport",
            requires: ["core.transport", "storage.memory"])
    }
}
