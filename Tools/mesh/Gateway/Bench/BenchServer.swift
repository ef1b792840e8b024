#if CommandLineTools && WebSocket
    import ArgumentParser
    import MeshBase
    import MeshGatewayServer
    import MeshResumeGateway
    import MeshToolOutput
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// The server that `gateway bench` measures, in its own process: a gateway, or SwiftNIO's servers without one. It prints the
    /// ports of its WebSockets and of its HTTP, and reads commands as lines. `push EVENTS BYTES` sends events to every user, and
    /// `fan EVENTS BYTES 1` to one user, each once the one before has left (0: all at once). Any other line ends it.
    struct BenchServerCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "bench-server", shouldDisplay: false)

        @Flag(help: "The server that only writes.") var bare = false
        @Option(help: "Number of users. Their names are their numbers.") var users: Int
        @Option(help: "Handshakes per second; 0 for no limit, -1 for the default.") var admission = 0
        @Option(help: "The Redis that keeps the events. Without it, this process's memory.") var redis: String?

        func run() async throws {
            DescriptorLimit.raise(to: 65_536)
            if bare { try await serveBare() } else { try await serveGateway() }
        }

        private func serveGateway() async throws {
            var settings = GatewayServerSettings()
            if admission >= 0 {
                settings.admission =
                    admission > 0 ? GatewayAdmission(perSecond: Double(admission), atOnce: admission) : .unlimited
            }
            settings.metricsPort = 0
            settings.publishToken = PublishingLoad.token
            settings.connection.heartbeatInterval = .seconds(600)
            settings.connection.identifyTimeout = .seconds(120)
            settings.socket.connectionsPerAddress = 100_000
            let server = try await GatewayServer.start(
                settings, app: GatewayApp { token, _ in token },
                buffer: try await GatewayServeCommand.buffer(
                    redis.map { ([$0], try Secrets.read(file: nil, variable: Secrets.redis)) }))
            try ToolOutput.print("\(server.port) \(server.metricsPort ?? 0)")
            while let order = BenchOrder.next() {
                let event = try ReplayEvent(type: "LOAD", json: BenchOrder.payload(order.bytes))
                let begun = await server.counts().framesSent
                for round in 0..<order.events {
                    if order.toOne {
                        try await server.publish(event, to: "0")
                    } else {
                        try await publish(event, server)
                    }
                    guard order.isPaced else { continue }
                    // Keeps at most one round unsent: an event whose notice is late waits for its user's next event.
                    let due = begun + (order.toOne ? round + 1 : round) * users
                    while true {
                        let counts = await server.counts()
                        let hasLeft = !order.toOne || counts.unsentBytes == 0
                        if counts.connections == 0 || (counts.framesSent >= due && hasLeft) { break }
                        await Task.yield()
                    }
                }
                try ToolOutput.print("done")
            }
        }

        /// Publishes an event to every user, in 64 concurrent tasks with Redis.
        private func publish(_ event: ReplayEvent, _ server: GatewayServer) async throws {
            let lanes = redis == nil ? 1 : 64
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<lanes {
                    group.addTask {
                        for user in stride(from: lane, to: users, by: lanes) {
                            try await server.publish(event, to: "\(user)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        private func serveBare() async throws {
            let server = try await BareServer.start()
            try ToolOutput.print("\(server.port) \(try await BareHTTPServer.start())")
            while let order = BenchOrder.next() {
                let head = #"{"op":0,"s":1000,"t":"LOAD","d":"#
                let message = Array(head.utf8) + BenchOrder.payload(order.bytes) + Array("}".utf8)
                for _ in 0..<order.events { try await server.push(message) }
            }
        }
    }

    /// A command of the benchmark to its server.
    struct BenchOrder {
        let toOne: Bool
        let events: Int
        let bytes: Int
        let isPaced: Bool

        /// Reads the next command.
        /// - Returns: nil at the end.
        static func next() -> BenchOrder? {
            guard let words = readLine()?.split(separator: " "), words.count == 4, ["push", "fan"].contains(words[0]),
                let events = Int(words[1]), let bytes = Int(words[2])
            else { return nil }
            return BenchOrder(toOne: words[0] == "fan", events: events, bytes: bytes, isPaced: words[3] == "1")
        }

        /// Returns a JSON string of the given number of bytes.
        static func payload(_ bytes: Int) -> [UInt8] {
            [UInt8(ascii: "\"")] + Array(repeating: UInt8(ascii: "x"), count: max(0, bytes - 2)) + [UInt8(ascii: "\"")]
        }
    }
#endif
