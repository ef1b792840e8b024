#if CommandLineTools
    import ArgumentParser
    import MeshToolOutput

    /// The option for the key that signs a gateway's tokens.
    struct GatewaySecret: ParsableArguments {
        @Option(
            help: Secrets.help(
                "The key that signs tokens (`mesh gateway token USER`), at least 16 bytes", Secrets.gateway))
        var secretFile: String?

        #if WebSocket
            /// - Returns: nil without a secret.
            /// - Throws: `ToolError`.
            func tokens() throws(ToolError) -> GatewayTokens? {
                guard let text = try Secrets.read(file: secretFile, variable: Secrets.gateway) else { return nil }
                guard let tokens = GatewayTokens(secret: text) else {
                    throw ToolError(
                        "a gateway's secret has at least \(GatewayTokens.secretBytesMin) bytes: `openssl rand -base64 32` makes one"
                    )
                }
                return tokens
            }
        #endif
    }
#endif
