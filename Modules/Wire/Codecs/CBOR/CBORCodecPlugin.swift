public import MeshBus

/// Registers `CBORCodec`.
public struct CBORCodecPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "codec.cbor", kind: .codec, module: "MeshWire", version: "0.1.0",
            summary: "RFC 8949 in its deterministic form, for peers in other languages",
            requires: ["core.wire"], capabilities: ["any-codable", "deterministic"])
    }

    public func contribute(to registry: inout ExtensionRegistry) { registry.add(CBORCodec(), to: .codecs) }
}
