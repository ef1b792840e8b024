public import MeshBus

/// A plugin that registers MeshGatewayTransport. The transport needs the trait WebSocket.
public struct GatewayTransportPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.gateway", kind: .transport, module: "MeshGatewayTransport", version: "0.1.0",
            summary: "Paired peers anywhere, through mailboxes at a gateway that can't read their messages",
            requires: ["core.transport", "core.delivery", "core.security", "internet.relay", "internet.websocket"],
            capabilities: ["realtime", "queue", "latest", "request-reply", "broadcast"], limits: Self.limits)
    }

    #if WebSocket
        private static let limits: [PayloadLimit] = [.gatewayMessage]
    #else
        private static let limits: [PayloadLimit] = []
    #endif
}
