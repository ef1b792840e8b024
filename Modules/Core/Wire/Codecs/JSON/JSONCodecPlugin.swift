public import MeshBus

/// A plugin that registers ``JSONCodec``.
public struct JSONCodecPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "codec.json", kind: .codec, module: "MeshWire", version: "0.1.0",
            summary: "Foundation JSON with sorted keys: readable in any language",
            requires: ["core.wire"], capabilities: ["readable", "any-codable"])
    }

    public func contribute(to registry: inout ExtensionRegistry) { registry.add(JSONCodec(), to: .codecs) }
}
