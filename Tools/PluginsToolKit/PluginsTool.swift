import Foundation
@_exported public import MeshBenchmarkCases
@_exported public import MeshBus
@_exported public import MeshCodecBenchmark
import MeshToolOutput

#if CommandLineTools
    import ArgumentParser
#endif

/// A command line tool for a list of plugins: it lists, describes, measures and checks them.
///
/// A package with its own plugins creates its tool with a `main.swift` of three lines:
///
/// ```swift
/// import MyPlugins
/// import PluginsToolKit
/// await PluginsTool.main { MyTransportPlugin() }
/// ```
///
/// The tool also lists the plugins that yours require. If one is missing, the error names it.
public enum PluginsTool {
    /// Runs the command in the process's arguments and exits. The status is 0 on success, 1 if the command or a check failed,
    /// and 64 if the arguments are invalid.
    ///
    /// Needs the trait `CommandLineTools`. Without it the tool prints an error and exits with 1.
    public static func main(@PluginBuilder _ plugins: () throws -> [any Plugin]) async -> Never {
        ToolOutput.prepare()
        #if CommandLineTools
            do {
                let command = try RootCommand.parseAsRoot()
                if command is any SeedCommand { HashSeed.fix() }
                if let command = command as? any ToolCommand {
                    try await command.run(
                        on: PluginBus(plugins: plugins() + [CodecBenchmarkPlugin(), BenchmarkCasesPlugin(), itself]))
                } else {
                    var command = command
                    try command.run()
                }
                exit(EXIT_SUCCESS)
            } catch {
                ToolOutput.exit(
                    error, message: RootCommand.fullMessage(for: error),
                    status: RootCommand.exitCode(for: error).rawValue)
            }
        #else
            ToolOutput.remark(
                "this tool was built without the trait CommandLineTools; build it with `--traits CommandLineTools`")
            exit(EXIT_FAILURE)
        #endif
    }

    /// The version of the library that contains the tool.
    static let version = "0.1.0"

    private static let itself = ModulePlugin(
        PluginDescriptor(
            id: "tool.plugins", kind: "tool", module: "PluginsToolKit", version: version,
            summary: "Lists, describes, measures and checks plugins on the command line"))
}
