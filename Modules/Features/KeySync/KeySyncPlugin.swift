public import MeshBus

/// Registers MeshKeySync.
public struct KeySyncPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.key-sync", kind: .feature, module: "MeshKeySync", version: "0.1.0",
            summary: "Stored keys that are the same on every peer, whichever starts first",
            requires: ["core.connection", "core.register", "core.wire"])
    }
}
