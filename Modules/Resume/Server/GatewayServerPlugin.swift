public import MeshBus

/// Registers MeshGatewayServer.
public struct GatewayServerPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "internet.gateway-server", kind: .feature, module: "MeshGatewayServer", version: "0.1.0",
            summary: "Serves resumable streams over WebSockets",
            requires: ["feature.resume-gateway", "internet.websocket"])
    }
}
