#if Libdeflate
    public import MeshBus
    internal import MeshWire

    /// A plugin that registers ``LibdeflateCompressor``.
    public struct LibdeflatePlugin: Plugin {
        /// Creates the plugin, which has no settings.
        public init() {}

        public var descriptor: PluginDescriptor {
            PluginDescriptor(
                id: "compressor.libdeflate", kind: "compressor", module: "MeshLibdeflate", version: "0.1.0",
                summary: "Deflates large bodies faster than zlib; any reader inflates them",
                requires: ["core.wire"])
        }

        public func contribute(to registry: inout ExtensionRegistry) {
            registry.add(LibdeflateCompressor(), to: .compressors)
        }
    }
#endif
