#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshResumeGateway
    import MeshToolOutput

    #if WebSocket
        import MeshGatewayServer
        import MeshWebSocket
    #endif
    #if Redis
        import MeshRedisReplay
    #endif

    struct GatewayServeCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve", abstract: "Serves until SIGTERM or Ctrl-C.",
            discussion: """
                Without a secret, the token is the user's name. Use that only to try it on this machine. With --secret-file, \
                `mesh gateway token USER` prints the tokens. With --publish each POST of JSON to /publish/USER/TYPE on the \
                metrics port appends an event, and one to /disconnect/USER disconnects that user. When it stops, it tells its clients to reconnect. Peers with \
                `--link ws://…` have their mailboxes here.

                Web pages can't connect unless --allow-origin names their site.
                """)

        @Option(help: "The WebSocket's port; 0 lets the system choose.")
        var port: UInt16 = 0

        @Option(help: "The address to listen at. Addresses that other machines can reach need --certificate and --key.")
        var listen = "127.0.0.1"

        @Option(help: ArgumentHelp("The certificate and its chain, as PEM.", valueName: "file"))
        var certificate: String?

        @Option(help: ArgumentHelp("The certificate's key, as PEM.", valueName: "file"))
        var key: String?

        @Option(help: "The port of /metrics and /publish on this machine; 0 lets the system choose.")
        var metricsPort: UInt16 = 0

        @OptionGroup var secret: GatewaySecret

        @Flag(
            help: "Serves POST /publish/USER/TYPE and /disconnect/USER, with the header 'Authorization: Bearer TOKEN'.")
        var publish = false

        @Option(help: Secrets.help("The token for --publish, at least 16 bytes", Secrets.publishing))
        var publishTokenFile: String?

        @Option(
            help: ArgumentHelp(
                "A site whose pages may connect, such as https://app.example; may be repeated.", valueName: "origin"))
        var allowOrigin: [String] = []

        @Option(
            help: ArgumentHelp(
                "Connections at once; by default 100,000, or as many as the system allows.", valueName: "number"))
        var connections: Int?

        @Option(
            help: ArgumentHelp(
                """
                The address of a proxy that reports its clients' addresses, or a block such as 10.0.0.0/8; may \
                be repeated.
                """, valueName: "address"))
        var trustedProxy: [String] = []

        @Flag(help: "With --trusted-proxy: proxies begin each connection with a header of the PROXY protocol, 1 or 2.")
        var proxyProtocol = false

        @Option(help: "Maximum number of store reads and writes per user and second. Further ones wait.")
        var userRate = UserBudget().perSecond

        @Option(help: "Seconds over which clients reconnect after it stops.")
        var shutdownSpread = 10

        @Option(
            help: ArgumentHelp(
                """
                The Redis that keeps the events, for any number of gateways: redis://host[:port][/database], \
                unix:///path, or redis+sentinel://host[,host]/master. Repeat it for several shards, the same ones at each \
                gateway. Without it, this process's memory.
                """, valueName: "url"))
        var redis: [String] = []

        @Option(help: Secrets.help("The password of --redis, the same for all shards", Secrets.redis))
        var redisPasswordFile: String?

        @Flag(help: "Prints its address as JSON: one object on one line.")
        var json = false

        @Flag(help: "Shows in a browser on this machine how much each device sends to each other. Contents are sealed.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        func validate() throws {
            for redis in redis { try Secrets.refusePassword(in: redis, "--redis-password-file", Secrets.redis) }
            if publishTokenFile != nil, !publish { throw ValidationError("--publish-token-file needs --publish") }
            if redisPasswordFile != nil, redis.isEmpty { throw ValidationError("--redis-password-file needs --redis") }
            for origin in allowOrigin {
                let site = ["https://", "http://"].first(where: origin.hasPrefix).map { origin.dropFirst($0.count) }
                guard let site, !site.isEmpty, !site.contains("/") else {
                    throw ValidationError("--allow-origin takes a site such as https://app.example, not '\(origin)'")
                }
            }
            if proxyProtocol, trustedProxy.isEmpty { throw ValidationError("--proxy-protocol needs a --trusted-proxy") }
            guard userRate >= 1, userRate <= 1e9 else {
                throw ValidationError("--user-rate must be from 1 to 1,000,000,000")
            }
            if let connections, connections < 1 { throw ValidationError("--connections must be at least 1") }
        }

        func run() async throws {
            #if WebSocket
                DescriptorLimit.raise()
                let (stops, stop) = AsyncStream<Int32>.makeStream()
                let watch = await SignalWatch([SIGTERM, SIGINT]) { stop.yield($0) }
                defer { watch.cancel() }
                let tokens = try secret.tokens()
                guard tokens != nil || Loopback.contains(listen) else {
                    throw ToolError("a gateway for other machines needs a secret: --secret-file or $\(Secrets.gateway)")
                }
                let app = GatewayApp(users: { token, _ in Self.user(of: token, tokens) })
                var settings = try settings()
                let redis =
                    try redis.isEmpty
                    ? nil : (redis, Secrets.read(file: redisPasswordFile, variable: Secrets.redis))
                #if Inspector
                    let inspection = inspect ? try await GatewayInspection(inspection) : nil
                    settings.onMailboxActivity = inspection?.watch
                #else
                    if inspect { throw ToolError.needsInspector }
                #endif
                let server = try await GatewayServer.start(
                    settings, app: app, buffer: try await Self.buffer(redis), mailboxes: try await Self.mailboxes(redis)
                )
                try printAddress(of: server)
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
            /// - Throws: `ToolError`.
            private func settings() throws -> GatewayServerSettings {
                var settings = GatewayServerSettings()
                settings.host = listen
                settings.port = Int(port)
                settings.certificateFile = certificate
                settings.keyFile = key
                settings.metricsPort = Int(metricsPort)
                settings.publishToken = try publishToken()
                settings.allowedOrigins = Set(allowOrigin)
                settings.trustedProxies = trustedProxy
                settings.usesProxyProtocol = proxyProtocol
                settings.userBudget = UserBudget(perSecond: userRate, atOnce: Int(userRate) * 2)
                settings.onProblem = Self.problemPrinter()
                if let connections {
                    settings.socket.connectionsMax = connections
                } else if settings.socket.connectionsMax < WebSocketLimits.connectionsDefault {
                    ToolOutput.remark(
                        "At most \(settings.socket.connectionsMax) connections: the system allows this process no more "
                            + "files and sockets (ulimit -Hn).")
                }
                settings.shutdownSpread = .seconds(max(0, shutdownSpread))
                return settings
            }

            /// - Returns: nil without --publish.
            /// - Throws: `ToolError`.
            private func publishToken() throws(ToolError) -> String? {
                guard publish else { return nil }
                guard let token = try Secrets.read(file: publishTokenFile, variable: Secrets.publishing) else {
                    throw ToolError("--publish needs a token: --publish-token-file or $\(Secrets.publishing)")
                }
                return token
            }

            /// Returns a function that prints a problem, but not the same one twice in a row for a source.
            private static func problemPrinter() -> @Sendable (GatewayProblem) -> Void {
                let last = Locked<[GatewayProblem.Source: String]>([:])
                return { problem in
                    let isNew = last.withLock { $0.updateValue(problem.cause, forKey: problem.source) != problem.cause }
                    if isNew { ToolOutput.remark("No answer from \(problem.source): \(problem.cause)") }
                }
            }

            /// The URLs of Redis' shards, and their password.
            typealias RedisPlace = (urls: [String], password: String?)

            /// - Parameter redis: The Redis that keeps events; nil for this process's memory.
            static func buffer(_ redis: RedisPlace?) async throws -> any ReplayBuffer {
                guard let redis else { return MemoryReplayBuffer() }
                #if Redis
                    return try await RedisReplayBuffer.connect(to: Self.addresses(redis))
                #else
                    _ = redis
                    throw ValidationError("mesh was built without the trait Redis; build with it to use --redis")
                #endif
            }

            /// - Parameter redis: The Redis that keeps mailboxes; nil for this process's memory.
            static func mailboxes(_ redis: RedisPlace?) async throws -> any MailboxStore {
                guard let redis else { return MemoryMailboxStore() }
                #if Redis
                    return try await RedisReplayBuffer.connect(to: Self.addresses(redis), .mailboxes())
                #else
                    _ = redis
                    throw ValidationError("mesh was built without the trait Redis; build with it to use --redis")
                #endif
            }

            #if Redis
                private static func addresses(_ redis: RedisPlace) throws -> [RedisAddress] {
                    try redis.urls.map { try RedisAddress($0, password: redis.password) }
                }
            #endif

            private func printAddress(of server: GatewayServer) throws {
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

            private static func user(of token: String, _ tokens: GatewayTokens?) -> GatewayUser? {
                guard let tokens else { return token.isEmpty ? nil : GatewayUser(token) }
                return tokens.user(of: token, now: Int64(Date().timeIntervalSince1970)).map { name, expiry in
                    GatewayUser(name, expires: Date(timeIntervalSince1970: TimeInterval(expiry)))
                }
            }
        #endif
    }
#endif
