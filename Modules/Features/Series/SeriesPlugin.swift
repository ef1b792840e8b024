public import MeshBus

/// Registers MeshSeries.
public struct SeriesPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.series", kind: .feature, module: "MeshSeries", version: "0.1.0",
            summary: "Samples beside a session's order: columns of numbers, compressed, append-only, in the store",
            requires: ["core.wire"])
    }
}
