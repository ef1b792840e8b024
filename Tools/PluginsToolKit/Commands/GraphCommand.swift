#if CommandLineTools
    import ArgumentParser
    import MeshBus
    import MeshToolOutput

    struct GraphCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "graph",
            abstract: "Show a package's modules by floor and their imports, or check the floors.",
            discussion: """
                Rows: floor, module, path, uses (modules of the package), packages (products of others). \
                With --check: path, line, message; none when the rules hold, else the exit code is 1. That sources import \
                only what their row declares is for `swift build --explicit-target-dependency-import-check error`.
                """)

        @Flag(help: "Check that modules import only lower floors, and that floors 0 to 2 use no other packages.")
        var check = false

        @Option(help: ArgumentHelp("The package.", valueName: "dir"))
        var packagePath = "."

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) throws {
            let package = try PackageSources(packagePath: packagePath)
            guard check else {
                return try output.print(package.graph.rows) { Self.table(of: package.graph.rows).text() }
            }
            let violations = package.violations
            try output.print(violations) {
                violations.isEmpty
                    ? "\(package.graph.modules.count) modules keep the rules"
                    : violations.map { $0.description.printable() }.joined(separator: "\n")
            }
            if !violations.isEmpty { throw ExitCode.failure }
        }

        private static func table(of rows: [GraphRow]) -> Table {
            Table(
                columns: [.number("Floor"), "Module", "Path", "Packages", "Uses"],
                rows: rows.map {
                    [$0.floor.map(String.init) ?? "?", $0.module, $0.path, $0.packages.list, $0.uses.list]
                })
        }
    }
#endif
