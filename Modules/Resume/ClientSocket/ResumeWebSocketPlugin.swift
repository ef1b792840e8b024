public import MeshBus

/// Registers MeshResumeWebSocket.
public struct ResumeWebSocketPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "internet.resume-websocket", kind: .feature, module: "MeshResumeWebSocket", version: "0.1.0",
            summary: "Follows a resumable stream over a WebSocket, through every reconnect",
            requires: ["feature.resume", "internet.websocket"])
    }
}
