public import MeshBus

/// Registers MeshSharedState.
public struct SharedStatePlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.shared-state", kind: .feature, module: "MeshSharedState", version: "0.2.0",
            summary: "One observable value that is the same on every peer: the newest whole, each field, or merged",
            requires: ["core.connection", "core.register"])
    }
}
