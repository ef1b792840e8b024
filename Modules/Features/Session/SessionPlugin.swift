public import MeshBus

/// Registers MeshSession.
public struct SessionPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.session", kind: .feature, module: "MeshSession", version: "0.1.0",
            summary: "The ready-made session: engine, transport and store in one observable object on the main actor",
            requires: ["core.engine", "core.transport", "core.timer-anchor", "core.wire", "feature.series"])
    }
}
