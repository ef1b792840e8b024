#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshToolOutput

    /// A command that works on the tool's plugins.
    protocol ToolCommand: ParsableCommand {
        func run(on bus: PluginBus) async throws
    }

    struct RootCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: CommandLine.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent },
            abstract: "Lists, describes, measures and checks the plugins of a mesh.",
            discussion: """
                Every command prints a table, or with --json one object on one line, whose `rows` have stable keys. \
                A command that fails prints one line on stderr, and its exit status isn't 0.
                """,
            subcommands: [
                ListCommand.self, DescribeCommand.self, LimitsCommand.self, BenchCommand.self, VerifyCommand.self,
                SimulateCommand.self, GraphCommand.self, TrainDictionaryCommand.self, NewCommand.self,
                LinkEndCommand.self,
            ])
    }

    /// The options for a command's output.
    struct OutputOptions: ParsableArguments {
        @Flag(help: "Prints JSON instead of a table: one object with `rows`, on one line.")
        var json = false

        /// - Parameter text: The readable form.
        func print<Row: Encodable>(_ rows: [Row], text: () -> String) throws {
            try print(object: Report(rows: rows), text: text)
        }

        /// Prints an object that doesn't consist of rows.
        func print(object: some Encodable, text: () -> String) throws {
            try json ? ToolOutput.print(json: try object.json()) : ToolOutput.print(text())
        }
    }
#endif
