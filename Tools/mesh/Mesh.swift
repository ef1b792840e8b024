#if CommandLineTools
    import ArgumentParser

    @main
    struct Mesh: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "mesh", abstract: "Peers of a session in a terminal.", version: "0.1.0",
            subcommands: [
                PeerCommand.self, PairCommand.self, DoctorCommand.self, ReplayCommand.self, PlayCommand.self,
            ])
    }
#else
    import Foundation

    @main
    enum Mesh {
        static func main() {
            let message = "mesh was built without the trait CommandLineTools; build with it to use the tool\n"
            FileHandle.standardError.write(Data(message.utf8))
            exit(1)
        }
    }
#endif
