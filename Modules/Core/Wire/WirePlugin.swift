public import MeshBus
public import MeshIdentity

/// Registers MeshWire. Each codec is a plugin of its own: `JSONCodecPlugin`, `CompactCodecPlugin`.
public struct WirePlugin: Plugin {
    /// It has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "core.wire", kind: .core, module: "MeshWire", version: "0.1.0",
            summary: "How values become bytes and frames: codecs, zlib, framing, payload limits",
            requires: ["core.identity"], limits: PayloadLimit.known)
    }
}

extension ExtensionPoint where Value == any PayloadCodec {
    /// Where codecs register; a frame names its codec by number.
    public static let codecs = ExtensionPoint("sessionmesh.codecs")
}
