#if CommandLineTools && WebSocket
    import ArgumentParser
    import Foundation
    import MeshToolOutput

    struct GatewayTokenCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "token", abstract: "Prints a token that names one user at a gateway with the same secret.",
            discussion: """
                Give the token to that user's devices: `mesh peer --link wss://host --token-file FILE`. It can't be taken back \
                before it expires, except with a new secret.
                """)

        @Argument(help: "The user's name.")
        var user: String

        @Option(help: "Days until the token expires, 1 to 3650.")
        var days = 30

        @OptionGroup var secret: GatewaySecret

        func validate() throws {
            guard !user.isEmpty, user.utf8.count <= 256 else {
                throw ValidationError("a user's name has 1 to 256 bytes")
            }
            guard (1...3650).contains(days) else { throw ValidationError("--days is from 1 to 3650, not \(days)") }
        }

        func run() throws {
            guard let tokens = try secret.tokens() else {
                throw ToolError("a token needs the gateway's secret: --secret-file or $\(Secrets.gateway)")
            }
            let expiry = Int64(Date().timeIntervalSince1970) + Int64(days) * 86_400
            try ToolOutput.print(tokens.token(for: user, expiry: expiry))
        }
    }
#endif
