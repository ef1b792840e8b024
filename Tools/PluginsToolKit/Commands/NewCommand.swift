#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshToolOutput

    struct NewCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new",
            abstract: "Write a package with a plugin to start from. It builds and passes the conformance rules.",
            discussion: "The compiler's warnings show what to change.",
            subcommands: [NewTransportCommand.self, NewCodecCommand.self, NewBenchmarkCommand.self])
    }

    struct NewTransportCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "transport", abstract: "Write a package with a link, its plugin, its test and its tool.",
            discussion: """
                Rows: path (within the package), lines. Docs/Transports/AddingATransport.md goes on from there.
                """)

        @OptionGroup var options: NewPackageOptions

        func run(on bus: PluginBus) throws { try options.write("transport", NewPackage.transport, on: bus) }
    }

    struct NewCodecCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "codec", abstract: "Write a package with a codec, its plugin, its test and its tool.",
            discussion: "Rows: path (within the package), lines.")

        @OptionGroup var options: NewPackageOptions

        func run(on bus: PluginBus) throws { try options.write("codec", NewPackage.codec, on: bus) }
    }

    struct NewBenchmarkCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "benchmark",
            abstract: "Write a package that measures your own state: does it fit, and in which codec?",
            discussion: "Rows: path (within the package), lines. Docs/Reference/Tools.md goes on from there.")

        @OptionGroup var options: NewPackageOptions

        func run(on bus: PluginBus) throws {
            try options.write("benchmark", NewPackage.benchmark, next: "bench codecs --payload", on: bus)
        }
    }

    struct NewPackageOptions: ParsableArguments {
        @Argument(help: "The name of the module and the prefix of its types, such as FileDrop.")
        var name: String

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("The package's folder. It must be empty or not exist yet.", valueName: "dir"))
        var output: String

        @Option(
            help: ArgumentHelp(
                "SessionMesh: a checkout, or a URL of which the branch main is used. By default the checkout that this "
                    + "tool was built from.", valueName: "path|url"))
        var package: String?

        @OptionGroup var format: OutputOptions

        /// - Parameter next: The first command to run with the package's tool, before the plugin's name; nil means `verify`.
        func write(
            _ kind: String, _ template: (PackageName, PackageOrigin) -> NewPackage, next: String? = nil,
            on bus: PluginBus
        ) throws {
            let name = try PackageName(name, taken: bus.descriptors.map(\.module))
            if bus.descriptors.contains(where: { $0.id.rawValue == "\(kind).\(name.dashed)" }) {
                throw ToolError("the plugin '\(kind).\(name.dashed)' already exists; choose another name")
            }
            let rows = try template(name, PackageOrigin(package)).write(to: output)
            try format.print(rows) {
                let table = Table(columns: ["File", .number("Lines")], rows: rows.map { [$0.path, "\($0.lines)"] })
                let hint =
                    next.map { "`swift run -c release \(name.dashed)-tool \($0) \(name.dashed)` measures it." }
                    ?? "`swift test` runs the rules, and `swift run \(name.dashed)-tool verify` as well."
                return table.text() + "\n\nIn '\(output.printable())': " + hint
            }
        }
    }
#endif
