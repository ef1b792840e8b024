public import MeshBus

/// Registers MeshInspector.
public struct InspectorPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "diagnostics.inspector", kind: .diagnostics, module: "MeshInspector", version: "0.1.0",
            summary: "A page on loopback that shows peers, what passes between them, and their states",
            requires: ["diagnostics.recorder"])
    }
}
