public import MeshBus

/// Registers MeshRequests.
public struct RequestsPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.requests", kind: .feature, module: "MeshRequests", version: "0.1.0",
            summary: "Asks a peer and gets its answer, once, whatever the link does", requires: ["core.connection"])
    }
}
