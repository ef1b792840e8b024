public import MeshBus

/// Registers the worked example.
public struct WorkoutPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "example.workout", kind: .example, module: "WorkoutExample", version: "0.1.0",
            summary: "A workout shared by phone and watch: the feature to copy, live and replayed from a recording",
            requires: ["core.timer-anchor", "feature.session"])
    }
}
