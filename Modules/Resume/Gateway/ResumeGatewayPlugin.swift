public import MeshBus

/// A plugin that registers MeshResumeGateway.
public struct ResumeGatewayPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.resume-gateway", kind: .feature, module: "MeshResumeGateway", version: "0.1.0",
            summary: "The server side of resumable streams: connections, and buffers that number events",
            requires: ["feature.resume"])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(.memory, to: .replayBuffers)
        registry.add(.memoryMailboxes, to: .replayBuffers)
    }
}
