#if CommandLineTools
    import MeshBus
    import MeshIdentity
    import MeshToolOutput
    import MeshWire

    /// The codecs that the plugins of this tool contribute.
    struct Codecs {
        let all: [any PayloadCodec]

        init() throws {
            let bus = try PluginBus {
                JSONCodecPlugin()
                CompactCodecPlugin()
            }
            all = bus.contributions(to: .codecs).map(\.value)
        }

        /// - Throws: `ToolError` that names the codecs there are.
        func named(_ name: String) throws -> any PayloadCodec {
            if let codec = all.first(where: { $0.id.name == name }) { return codec }
            let names = all.map(\.id.name).sorted().joined(separator: ", ")
            throw ToolError("there is no codec '\(name)'; there are: \(names)")
        }
    }
#endif
