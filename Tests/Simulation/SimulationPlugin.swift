public import MeshBus

/// A plugin that provides features to simulate.
public struct SimulationPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.simulation", kind: "tool", module: "MeshSimulation", version: "0.1.0",
            summary: "Engines against each other over a bad network in virtual time",
            requires: ["core.engine", "feature.session"])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(SimulationSubject(ListFeature.self), to: .simulations)
        registry.add(SimulationSubject(TextFeature.self), to: .simulations)
    }
}
