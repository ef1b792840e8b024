public import MeshBus

/// Registers MeshTransport, the contract that transports keep.
public struct TransportPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.transport", kind: .core, module: "MeshTransport", version: "0.1.0",
            summary: "The contract between sessions and transports: delivery modes, capabilities, streams",
            requires: ["core.identity"])
    }
}
