public import MeshBus

/// Registers MeshTimerAnchor.
public struct TimerAnchorPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.timer-anchor", kind: .core, module: "MeshTimerAnchor", version: "0.1.0",
            summary: "Elapsed time without ticks: anchor and accumulator, pause, resume, step, finish")
    }
}
