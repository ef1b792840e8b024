public import MeshBus

/// Registers `CBORCodec`.
public struct CBORCodecPlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "codec.cbor", kind: .codec, module: "MeshWire", version: "0.1.0",
            summary: "CBOR (RFC 8949) in its deterministic encoding: binary, and understood by other systems",
            requires: ["core.wire"], capabilities: ["any-codable", "deterministic", "standard"])
    }

    public func contribute(to registry: inout ExtensionRegistry) { registry.add(CBORCodec(), to: .codecs) }
}
