#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshResumeGateway
    import MeshToolOutput

    #if WebSocket
        import MeshGatewayServer
    #endif
    #if Redis
        import MeshRedisReplay
    #endif

    struct GatewayServeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve", abstract: "Serves until it is told to stop (SIGTERM or Ctrl-C).",
            discussion: """
                For trying it out: without --secret a token is its user's name; with it a token is 'NAME:SECRET'. Each \
                POST of JSON to /publish/USER/TYPE on the metrics port appends an event. When it stops, its clients are \
                told to come again. Peers with `--link ws://…` have mailboxes at it.
                """)

        @Option(help: "The port of the WebSocket; 0 for one of the system's choice.")
        var port = 0

        @Option(help: "The address at which it serves; others than this machine's need --certificate and --key.")
        var listen = "127.0.0.1"

        @Option(help: ArgumentHelp("A certificate with its chain, as PEM.", valueName: "file"))
        var certificate: String?

        @Option(help: ArgumentHelp("The certificate's key, as PEM.", valueName: "file"))
        var key: String?

        @Option(help: "The port of /metrics and /publish on this machine; 0 for one of the system's choice.")
        var metricsPort = 0

        @Option(help: "What a token must end with, after its user's name and a colon.")
        var secret: String?

        @Option(help: "Seconds within which clients come again when it stops.")
        var shutdownSpread = 10

        @Option(
            help: ArgumentHelp(
                """
                The Redis that keeps the events, for any number of gateways: redis://[:password@]host[:port][/database] or \
                unix:///path; without it this process's memory does.
                """, valueName: "url"))
        var redis: String?

        @Flag(help: "Prints where it serves as JSON: one object on one line.")
        var json = false

        @Flag(help: "Shows in a browser of this machine who sends how much to whom; what they say is sealed.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        func run() async throws {
            #if WebSocket
                let (stops, stop) = AsyncStream<Int32>.makeStream()
                let watch = await SignalWatch([SIGTERM, SIGINT]) { stop.yield($0) }
                defer { watch.cancel() }
                let secret = secret
                let app = GatewayApp { token, _ in Self.user(of: token, secret: secret) }
                var settings = settings
                #if Inspector
                    let inspection = inspect ? try await GatewayInspection(inspection) : nil
                    settings.onMailboxActivity = inspection?.watch
                #else
                    if inspect { throw ToolError.needsInspector }
                #endif
                let server = try await GatewayServer.start(
                    settings, app: app, buffer: try await Self.buffer(redis), mailboxes: try await Self.mailboxes(redis)
                )
                try tell(server)
                for await _ in stops { break }
                await server.shutDown()
                #if Inspector
                    await inspection?.stop()
                #endif
            #else
                throw ValidationError("mesh was built without the trait WebSocket; build with it to serve")
            #endif
        }

        #if WebSocket
            private var settings: GatewayServerSettings {
                var settings = GatewayServerSettings()
                settings.host = listen
                settings.port = port
                settings.certificateFile = certificate
                settings.keyFile = key
                settings.metricsPort = metricsPort
                settings.publishesByHTTP = true
                settings.shutdownSpread = .seconds(max(0, shutdownSpread))
                return settings
            }

            /// - Parameter redis: where events are kept; nil for this process's memory.
            static func buffer(_ redis: String?) async throws -> any ReplayBuffer {
                guard let redis else { return MemoryReplayBuffer() }
                #if Redis
                    return try await RedisReplayBuffer.connect(to: RedisAddress(redis))
                #else
                    _ = redis
                    throw ValidationError("mesh was built without the trait Redis; build with it to use --redis")
                #endif
            }

            /// - Parameter redis: where mailboxes are kept; nil for this process's memory.
            static func mailboxes(_ redis: String?) async throws -> any MailboxStore {
                guard let redis else { return MemoryMailboxStore() }
                #if Redis
                    return try await RedisReplayBuffer.connect(to: RedisAddress(redis), .mailboxes())
                #else
                    _ = redis
                    throw ValidationError("mesh was built without the trait Redis; build with it to use --redis")
                #endif
            }

            private func tell(_ server: GatewayServer) throws {
                let scheme = certificate == nil ? "ws" : "wss"
                let address = "\(scheme)://\(listen.contains(":") ? "[\(listen)]" : listen):\(server.port)/"
                let metrics = server.metricsPort ?? 0
                if json {
                    try ToolOutput.print(
                        json: "{\"port\":\(server.port),\"metrics_port\":\(metrics),\"url\":\"\(address)\"}")
                } else {
                    try ToolOutput.print("Serving at \(address), metrics at http://127.0.0.1:\(metrics)/metrics")
                }
            }

            private static func user(of token: String, secret: String?) -> String? {
                guard let secret else { return token.isEmpty ? nil : token }
                guard token.hasSuffix(":" + secret) else { return nil }
                let name = token.dropLast(secret.count + 1)
                return name.isEmpty ? nil : String(name)
            }
        #endif
    }
#endif
