#if Zstd
    public import MeshBus
    internal import MeshWire

    /// A plugin that registers ``ZstdFormat``.
    public struct ZstdPlugin: Plugin {
        /// Creates the plugin, which has no settings.
        public init() {}

        public var descriptor: PluginDescriptor {
            PluginDescriptor(
                id: "format.zstd", kind: "compression", module: "MeshZstd", version: "0.1.0",
                summary: "Bodies compressed as zstd, between peers that both have it",
                requires: ["core.wire"])
        }

        public func contribute(to registry: inout ExtensionRegistry) {
            registry.add(ZstdFormat(), to: .compressionFormats)
        }
    }
#endif
