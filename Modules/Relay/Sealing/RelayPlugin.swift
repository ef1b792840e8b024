public import MeshBus

/// Registers MeshRelay. What it describes is there with the traits MQTT and WebSocket.
public struct RelayPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "internet.relay", kind: .feature, module: "MeshRelay", version: "0.1.0",
            summary: "A link between paired peers through what passes their messages on and reads none",
            requires: ["core.transport", "core.security"])
    }
}
