public import MeshBus

/// A plugin that registers MeshUDPTransport.
public struct UDPTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.udp", kind: .transport, module: "MeshUDPTransport", version: "0.1.0",
            summary: "Paired peers that find each other on the local network, over TLS and sealed datagrams",
            requires: ["core.transport", "core.delivery", "core.discovery", "core.security"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast", "discovery"],
            limits: Self.limits)
    }

    #if UDP
        private static let limits: [PayloadLimit] = [.udpStream, .udpSealed]
    #else
        private static let limits: [PayloadLimit] = []
    #endif
}
