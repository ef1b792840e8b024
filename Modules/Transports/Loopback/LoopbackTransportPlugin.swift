public import MeshBus

/// Registers MeshLoopbackTransport.
public struct LoopbackTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.loopback", kind: .transport, module: "MeshLoopbackTransport", version: "0.1.0",
            summary: "Own sends come back: a whole session in one process",
            requires: ["core.transport"])
    }
}
