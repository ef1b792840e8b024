public import MeshBus

/// Registers MeshWebSocket.
public struct WebSocketPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "internet.websocket", kind: .feature, module: "MeshWebSocket", version: "0.1.0",
            summary: "WebSockets, served and dialled, over TLS or on loopback", requires: ["core.bus"])
    }
}
