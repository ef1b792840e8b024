public import MeshBus

/// A plugin that registers MeshDiscovery.
public struct DiscoveryPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.discovery", kind: .core, module: "MeshDiscovery", version: "0.1.0",
            summary: "Finds and announces services on the local network by multicast DNS",
            requires: ["core.bus"], capabilities: Self.capabilities)
    }

    #if SystemDiscovery || canImport(Darwin)
        private static let capabilities = ["own-sockets", "system-responder", "network-doctor"]
    #else
        private static let capabilities = ["own-sockets", "network-doctor"]
    #endif
}
