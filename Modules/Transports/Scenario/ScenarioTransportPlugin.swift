public import MeshBus

/// Registers MeshScenarioTransport.
public struct ScenarioTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.scenario", kind: .transport, module: "MeshScenarioTransport", version: "0.1.0",
            summary: "A network in virtual time from one seed: latency, reordering, partitions, reachability",
            requires: ["core.transport"])
    }
}
