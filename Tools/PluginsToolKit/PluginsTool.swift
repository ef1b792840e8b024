import Foundation
@_exported public import MeshBenchmarkCases
@_exported public import MeshBus
@_exported public import MeshCodecBenchmark
import MeshToolOutput

#if CommandLineTools
    import ArgumentParser
#endif

/// A command line tool over a list of plugins: it lists, describes, measures and checks them.
///
/// A package with plugins of its own makes its own tool with a `main.swift` of three lines:
///
/// ```swift
/// import MyPlugins
/// import PluginsToolKit
/// await PluginsTool.main { MyTransportPlugin() }
/// ```
///
/// Plugins that those require are listed beside them; one that is missing is named in the error.
public enum PluginsTool {
    /// Runs the command of the process's arguments and exits: 0 when it did its work, 1 when it could not or when a check
    /// failed, 64 when the arguments make no command.
    ///
    /// Needs the trait `CommandLineTools`; without it, says so and exits with 1.
    public static func main(@PluginBuilder _ plugins: () throws -> [any Plugin]) async -> Never {
        ToolOutput.prepare()
        #if CommandLineTools
            do {
                let command = try RootCommand.parseAsRoot()
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

    /// The version of the library that the tool is part of.
    static let version = "0.1.0"

    private static let itself = ModulePlugin(
        PluginDescriptor(
            id: "tool.plugins", kind: "tool", module: "PluginsToolKit", version: version,
            summary: "Lists, describes, measures and checks plugins on the command line"))
}
