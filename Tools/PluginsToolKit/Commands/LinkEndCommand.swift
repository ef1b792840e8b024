#if CommandLineTools
    import ArgumentParser
    import MeshBenchmarkCases
    import MeshBus
    import MeshToolOutput

    /// The second process of `bench links`.
    struct LinkEndCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: LinkRole.command, abstract: "Run the other end of a measured link.",
            shouldDisplay: false)

        @Argument var link: String
        @Argument var role: LinkRole

        func run(on bus: PluginBus) async throws {
            let links = bus.contributions(to: .measuredLinks).map(\.value)
            guard let link = links.first(where: { $0.id == link }) else {
                throw ToolError("there is no link '\(link)'")
            }
            try await role.play(link)
        }
    }

    extension LinkRole: ExpressibleByArgument {}
#endif
