#if CommandLineTools
    import MeshBus
    import MeshIdentity
    import MeshToolOutput
    import MeshWire

    /// The codecs that this tool's plugins provide.
    struct Codecs {
        let all: [any PayloadCodec]

        init() throws {
            let bus = try PluginBus {
                JSONCodecPlugin()
                CompactCodecPlugin()
            }
            all = bus.contributions(to: .codecs).map(\.value)
        }

        /// Returns the codec with that name.
        /// - Throws: `ToolError`, which lists the known codecs.
        func named(_ name: String) throws -> any PayloadCodec {
            if let codec = all.first(where: { $0.id.name == name }) { return codec }
            let names = all.map(\.id.name).sorted().joined(separator: ", ")
            throw ToolError("there is no codec '\(name)'; there are: \(names)")
        }
    }
#endif
