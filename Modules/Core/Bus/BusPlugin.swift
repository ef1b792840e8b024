/// Registers MeshBus itself, so that a listing shows every module.
public struct BusPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.bus", kind: .core, module: "MeshBus", version: "0.1.0",
            summary: "Where plugins meet: descriptors, extension points, order of requirements, topics")
    }
}
