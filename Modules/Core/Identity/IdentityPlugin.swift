public import MeshBus

/// Registers MeshIdentity.
public struct IdentityPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.identity", kind: .core, module: "MeshIdentity", version: "0.1.0",
            summary: "Who did what, in which session: peers, metadata, envelopes, snapshots, hybrid logical clock")
    }
}
