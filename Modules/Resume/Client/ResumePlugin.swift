public import MeshBus

/// Registers MeshResume.
public struct ResumePlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.resume", kind: .feature, module: "MeshResume", version: "0.1.0",
            summary: "Resumes a server's stream where it stopped: nothing missed, nothing twice", requires: ["core.bus"]
        )
    }
}
