#if CommandLineTools && WebSocket
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshToolOutput

    struct GatewayBenchCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench", abstract: "Compares a gateway with a WebSocket server that only writes, in one run.",
            discussion: """
                Server and load are processes of their own, on this machine. Ratios count: the gateway's figure by that of \
                SwiftNIO's own server, which writes the same bytes to open sockets, accepts WebSockets, and answers the same \
                HTTP requests. Processor time (CPU) is the server's. Clients return after every connection was cut, or the \
                gateway was ended and started on the same Redis, until each has what it missed.
                """)

        enum Part: String, CaseIterable, ExpressibleByArgument { case deliver, fan, open, publish, returning, stay }

        @Option(help: "Number of idle sessions, and of clients that reconnect.") var sessions = 10_000
        @Option(help: "Number of clients that receive events.") var clients = 1000
        @Option(help: "Number of events for each client.") var events = 100
        @Option(help: "Number of events that each client has missed when it reconnects.") var missed = 100
        @Option(help: "Number of bytes in an event's payload.") var bytes = 100
        @Option(help: "Handshakes per second, for the case with limited admission.") var admission = 2000
        @Option(help: "A Redis, for the case in which clients reconnect to a restarted gateway.") var redis: String?
        @Option(help: "Number of HTTP requests that publish.") var requests = 20_000
        @Option(help: "The parts to measure; may be repeated. All by default.") var part: [Part] = []
        @Flag(help: "Prints JSON: one object with `rows`, on one line.") var json = false

        func validate() throws {
            if let redis {
                try Secrets.refusePassword(in: redis, "--redis-password-file of `mesh gateway`", Secrets.redis)
            }
        }

        func run() async throws {
            DescriptorLimit.raise(to: 65_536)
            var rows: [BenchRow] = []
            func add(_ row: BenchRow) throws {
                rows.append(row)
                if !json { try ToolOutput.print(row.text) }
            }
            func measures(_ part: Part) -> Bool { self.part.isEmpty || self.part.contains(part) }
            if measures(.deliver) {
                let delivered = try await (deliver(.gateway()), deliver(.bare))
                try add(BenchRow(what: "delivered a second", gateway: delivered.0, bare: delivered.1))
            }
            if measures(.fan) {
                let (gateway, bare) = try await (fan(.gateway()), fan(.bare))
                for ((what, gateway), (_, bare)) in zip(gateway, bare) {
                    try add(BenchRow(what: "one stream, \(what)", gateway: gateway, bare: bare))
                }
            }
            if measures(.open) {
                let (gateway, bare) = try await (open(.gateway()), open(.bare))
                try add(BenchRow(what: "µs CPU to open and identify", gateway: gateway.cpu, bare: bare.cpu))
                try add(BenchRow(what: "µs to open and identify", gateway: gateway.wall, bare: bare.wall))
            }
            if measures(.publish) {
                for (what, load) in publishing {
                    let (gateway, bare) = try await (publish(.gateway(), load), publish(.bare, load))
                    try add(BenchRow(what: "µs CPU to publish, \(what)", gateway: gateway.cpu, bare: bare.cpu))
                    try add(BenchRow(what: "µs to publish, \(what)", gateway: gateway.wall, bare: bare.wall))
                }
            }
            if measures(.returning) {
                let seconds = try await (comeBack(.gateway(admission: -1)), comeBack(.bare))
                try add(
                    BenchRow(
                        what: "ms until 2000 are back, default admission", gateway: seconds.0 * 1e3,
                        bare: seconds.1 * 1e3))
            }
            if measures(.stay) { try await stay(add) }
            guard json else { return }
            try ToolOutput.print(json: try ["rows": rows].json())
        }

        private func stay(_ add: (BenchRow) throws -> Void) async throws {
            let (idle, back) = try await stay(.gateway())
            let bare = try await stay(.bare)
            try add(BenchRow(what: "bytes of an idle session", gateway: idle, bare: bare.idle))
            try add(BenchRow(what: "missed events a second, memory", gateway: back, bare: bare.back))
            let slow = try await stay(.gateway(admission: admission)).back
            try add(BenchRow(what: "the same, \(admission) let in a second", gateway: slow, bare: bare.back))
            if let redis {
                let back = try await stay(.gateway(redis: redis)).back
                try add(BenchRow(what: "missed events a second, Redis, restarted", gateway: back, bare: bare.back))
                let slow = try await stay(.gateway(admission: admission, redis: redis)).back
                try add(BenchRow(what: "the same, \(admission) let in a second", gateway: slow, bare: bare.back))
            }
        }

        /// - Returns: Number of delivered events a second.
        private func deliver(_ kind: BenchProcess.Kind) async throws -> Double {
            let process = try BenchProcess(kind, users: clients)
            let load = BenchLoad(speaks: kind.speaks)
            try await load.connect(0..<clients, to: process.port)
            var seconds = 0.0
            // The first round warms up.
            for _ in 0..<2 {
                try await load.resetEvents()
                seconds = try await elapsed {
                    process.push(events, bytes)
                    try await load.waitForEvents(clients * events)
                }
            }
            process.end()
            try await load.dropAll()
            return Double(clients * events) / seconds
        }

        /// - Returns: µs of processor time, and of time, for each delivery to the clients of one stream.
        private func fan(_ kind: BenchProcess.Kind) async throws -> [(what: String, Double)] {
            let process = try BenchProcess(kind, users: clients)
            let load = BenchLoad(speaks: kind.speaks, areOneUser: true)
            try await load.connect(0..<clients, to: process.port)
            var rows: [(String, Double)] = []
            for isPaced in [true, true, false] {
                try await load.resetEvents()
                let before = process.seconds
                let seconds = try await elapsed {
                    process.fan(events, bytes, isPaced: isPaced)
                    try await load.waitForEvents(clients * events)
                }
                // The first round warms up.
                let what = isPaced ? "paced" : "unpaced"
                rows.removeAll { $0.0.hasSuffix(" " + what) }
                rows.append(("µs CPU a delivery, " + what, (process.seconds - before) * 1e6 / Double(clients * events)))
                rows.append(("µs a delivery, " + what, seconds * 1e6 / Double(clients * events)))
            }
            process.end()
            try await load.dropAll()
            return rows
        }

        /// - Returns: µs of processor time, and of time, for each client that connects and identifies.
        private func open(_ kind: BenchProcess.Kind) async throws -> (cpu: Double, wall: Double) {
            let process = try BenchProcess(kind, users: clients * 3)
            let load = BenchLoad(speaks: kind.speaks)
            // Warms up.
            try await load.connect(0..<clients, to: process.port)
            let before = process.seconds
            let seconds = try await elapsed { try await load.connect(clients..<clients * 3, to: process.port) }
            let used = process.seconds - before
            process.end()
            try await load.dropAll()
            return (used * 1e6 / Double(clients * 2), seconds * 1e6 / Double(clients * 2))
        }

        private var publishing: [(what: String, load: (Int) -> PublishingLoad)] {
            [
                ("a connection each", { PublishingLoad(port: $0, clients: 16, keepsConnections: false) }),
                ("kept connections", { PublishingLoad(port: $0, clients: 16, keepsConnections: true) }),
                ("100 in a request", { PublishingLoad(port: $0, clients: 16, keepsConnections: true, events: 100) }),
            ]
        }

        /// - Returns: µs of processor time, and of time, for each published event.
        private func publish(
            _ kind: BenchProcess.Kind, _ load: (Int) -> PublishingLoad
        ) async throws -> (cpu: Double, wall: Double) {
            let process = try BenchProcess(kind, users: 0)
            defer { process.end() }
            let load = load(process.httpPort)
            let payload = BenchOrder.payload(bytes)
            // Warms up.
            try load.publish(64, payload)
            let requests = max(1, requests / load.events)
            let before = process.seconds
            let seconds = try measured { try load.publish(requests, payload) }
            let events = Double(requests * load.events)
            return ((process.seconds - before) * 1e6 / events, seconds * 1e6 / events)
        }

        /// - Returns: The seconds until 2,000 clients are back whose connections were cut.
        private func comeBack(_ kind: BenchProcess.Kind) async throws -> Double {
            let count = 2000
            let process = try BenchProcess(kind, users: count)
            let load = BenchLoad(speaks: kind.speaks)
            try await load.connect(0..<count, to: process.port)
            try await load.dropAll()
            // Lets the admission's burst fill up again.
            try await Task.sleep(for: .seconds(3))
            let seconds = try await elapsed { try await load.connect(0..<count, to: process.port) }
            process.end()
            try await load.dropAll()
            return seconds
        }

        /// Measures idle sessions, then lets all of them reconnect at the same time.
        /// - Returns: The bytes of an idle session, and the events a second while all sessions come back. That time runs
        ///   from the first attempt until all have what they missed. The bare server sends the same events instead.
        private func stay(_ kind: BenchProcess.Kind) async throws -> (idle: Double, back: Double) {
            var process = try BenchProcess(kind, users: sessions)
            let load = BenchLoad(speaks: kind.speaks)
            let before = process.residentBytes
            try await load.connect(0..<sessions, to: process.port)
            let idle = Double(process.residentBytes - before) / Double(sessions)
            try await load.dropAll()
            if kind.speaks {
                process.push(missed, bytes)
                process.pushIsDone()
                if kind.redis != nil {
                    process.end()
                    process = try BenchProcess(kind, users: sessions)
                }
            }
            try await load.resetEvents()
            // The clients of a server that only writes are connected before the clock starts. It then writes the same bytes.
            if !kind.speaks { try await load.connect(0..<sessions, to: process.port) }
            let seconds = try await elapsed {
                if kind.speaks {
                    try await load.connect(0..<sessions, to: process.port)
                } else {
                    process.push(missed, bytes)
                }
                try await load.waitForEvents(sessions * missed)
            }
            process.end()
            try await load.dropAll()
            return (idle, Double(sessions * missed) / seconds)
        }

        private func measured(_ body: () throws -> Void) rethrows -> Double {
            let duration = try ContinuousClock().measure(body)
            return duration / .seconds(1)
        }

        private func elapsed(_ body: () async throws -> Void) async rethrows -> Double {
            let duration = try await ContinuousClock().measure { try await body() }
            return duration / .seconds(1)
        }
    }

    private struct BenchRow: Encodable {
        let what: String
        let gateway: Double
        let bare: Double
        let ratio: Double

        init(what: String, gateway: Double, bare: Double) {
            (self.what, self.gateway, self.bare, ratio) = (what, gateway, bare, gateway / bare)
        }

        var text: String {
            String(format: "%@: %.1f, SwiftNIO alone %.1f, ratio %.2f", what, gateway, bare, ratio)
        }
    }

    /// A server process of the benchmark, and the commands to it.
    private final class BenchProcess {
        let port: Int
        let httpPort: Int
        private let process = Process()
        private let (input, output) = (Pipe(), Pipe())

        struct Kind {
            var speaks = true
            /// Maximum number of handshakes a second; 0 for no limit.
            var admission = 0
            var redis: String?

            static let bare = Kind(speaks: false)
            static func gateway(admission: Int = 0, redis: String? = nil) -> Kind {
                Kind(admission: admission, redis: redis)
            }
        }

        init(_ kind: Kind, users: Int) throws {
            process.executableURL = Bundle.main.executableURL
            process.arguments = ["gateway", "bench-server", "--users", "\(users)", "--admission=\(kind.admission)"]
            if !kind.speaks { process.arguments?.append("--bare") }
            if let redis = kind.redis { process.arguments?.append(contentsOf: ["--redis", redis]) }
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            let ports = Self.line(output).split(separator: " ").compactMap { Int($0) }
            guard ports.count == 2 else { throw ValidationError("the bench's server didn't start") }
            (port, httpPort) = (ports[0], ports[1])
        }

        var residentBytes: Int { ProcessUse.residentBytes(of: process.processIdentifier) }
        /// The processor time used so far.
        var seconds: Double { ProcessUse.seconds(of: process.processIdentifier) }

        func push(_ events: Int, _ bytes: Int) { order("push \(events) \(bytes) 1") }

        func fan(_ events: Int, _ bytes: Int, isPaced: Bool) { order("fan \(events) \(bytes) \(isPaced ? 1 : 0)") }

        private func order(_ line: String) {
            try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
        }

        /// Waits until the server has finished the push.
        func pushIsDone() { _ = Self.line(output) }

        func end() {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }

        private static func line(_ pipe: Pipe) -> String {
            var bytes: [UInt8] = []
            while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
