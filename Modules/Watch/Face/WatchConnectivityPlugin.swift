public import MeshBus

/// Registers SessionMeshWatchConnectivity.
public struct WatchConnectivityPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.watch-connection", kind: .feature, module: "SessionMeshWatchConnectivity", version: "0.1.0",
            summary:
                "Requests, shared state and files between a phone and its watch, under the names of WatchConnectivitySwift",
            requires: [
                "core.connection", "feature.requests", "feature.shared-state", "feature.files",
                "transport.watch-connectivity",
            ])
    }
}
