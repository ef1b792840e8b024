public import MeshBus

/// Registers MeshSimulatedWatch.
public struct SimulatedWatchPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "testing.simulated-watch", kind: "testing", module: "MeshSimulatedWatch", version: "0.1.0",
            summary: "Stands in for WatchConnectivity: its interface, and a daemon between a phone and a watch",
            requires: ["core.transport"])
    }
}
