import Foundation
@_exported public import MeshBus

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
        #if CommandLineTools
            do {
                let command = try RootCommand.parseAsRoot()
                if let command = command as? any ToolCommand {
                    try await command.run(on: PluginBus(plugins: plugins() + [PluginsToolKitPlugin()]))
                } else {
                    var command = command
                    try command.run()
                }
                exit(EXIT_SUCCESS)
            } catch {
                RootCommand.exit(withError: error)
            }
        #else
            FileHandle.standardError.write(
                Data(
                    "this tool was built without the trait CommandLineTools; build it with `--traits CommandLineTools`\n"
                        .utf8))
            exit(EXIT_FAILURE)
        #endif
    }
}
