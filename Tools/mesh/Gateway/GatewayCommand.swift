#if CommandLineTools
    import ArgumentParser

    struct GatewayCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "gateway", abstract: "Resumable streams of events over WebSockets.",
            subcommands: subcommands, defaultSubcommand: GatewayServeCommand.self)

        #if WebSocket
            private static let subcommands: [any ParsableCommand.Type] = [
                GatewayServeCommand.self, GatewayTokenCommand.self, GatewayBenchCommand.self, BenchServerCommand.self,
            ]
        #else
            private static let subcommands: [any ParsableCommand.Type] = [GatewayServeCommand.self]
        #endif
    }
#endif
