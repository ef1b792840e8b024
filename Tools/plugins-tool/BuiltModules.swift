import MeshBus

/// Plugins that only describe the modules of this build. They contribute nothing.
enum BuiltModules {
    static var plugins: [any Plugin] {
        let missing = OfferedTraitsPlugin.missingPlugins
        return ModulePlugin.all.filter { !missing.contains($0.descriptor.id) } + [workoutExample]
    }

    private static let workoutExample = ModulePlugin(
        PluginDescriptor(
            id: "example.workout", kind: .example, module: "WorkoutExample", version: "0.1.0",
            summary: "A workout shared by phone and watch: the feature to copy, live and replayed from a recording",
            requires: ["core.timer-anchor", "feature.session"]))
}
