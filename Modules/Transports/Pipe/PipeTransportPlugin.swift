public import MeshBus

/// Registers MeshPipeTransport.
public struct PipeTransportPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.pipe", kind: .transport, module: "MeshPipeTransport", version: "0.1.0",
            summary: "Two processes over stdin and stdout, a pipe or a Unix socket",
            requires: ["core.transport", "core.wire"])
    }
}
