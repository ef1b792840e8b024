#if CommandLineTools
    import ArgumentParser
    import MeshToolOutput

    @main
    struct Mesh: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "mesh", abstract: "Peers of a session in a terminal.", version: "0.1.0",
            subcommands: [
                PeerCommand.self, PairCommand.self, DoctorCommand.self, ReplayCommand.self, PlayCommand.self,
                CodecsCommand.self, GatewayCommand.self, InspectCommand.self,
            ])

        static func main() async {
            ToolOutput.prepare()
            do {
                var command = try parseAsRoot()
                if var command = command as? any AsyncParsableCommand {
                    try await command.run()
                } else {
                    try command.run()
                }
            } catch {
                ToolOutput.exit(error, message: fullMessage(for: error), status: exitCode(for: error).rawValue)
            }
        }
    }
#else
    import Foundation
    import MeshToolOutput

    @main
    enum Mesh {
        static func main() {
            ToolOutput.prepare()
            ToolOutput.remark("mesh was built without the trait CommandLineTools; build with it to use the tool")
            exit(1)
        }
    }
#endif
