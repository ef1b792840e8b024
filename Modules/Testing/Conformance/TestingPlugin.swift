public import MeshBus

/// Registers MeshTesting.
public struct TestingPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "testing.conformance", kind: .testing, module: "MeshTesting", version: "0.1.0",
            summary: "Conformance rules for transports, codecs and stores, and the sample payloads",
            requires: ["core.transport", "core.wire"])
    }
}
