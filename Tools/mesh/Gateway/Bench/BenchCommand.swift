#if CommandLineTools && WebSocket
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshToolOutput

    struct GatewayBenchCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench", abstract: "Compares a gateway with a WebSocket server that only writes, in one run.",
            discussion: """
                Server and load are processes of their own, on this machine. Ratios count: events delivered a second, memory \
                of an idle session, and the return of all clients after every connection was cut, or the gateway was ended \
                and started on the same Redis, until each has what it missed: the gateway's by those of a server of SwiftNIO's \
                that pushes the same bytes to sockets that are there.
                """)

        @Option(help: "Number of idle sessions, and of clients that reconnect.") var sessions = 10_000
        @Option(help: "Number of clients that receive events.") var clients = 1000
        @Option(help: "Number of events for each client.") var events = 100
        @Option(help: "Number of events that each client has missed when it reconnects.") var missed = 100
        @Option(help: "Number of bytes in an event's payload.") var bytes = 100
        @Option(help: "Handshakes per second, for the case with limited admission.") var admission = 2000
        @Option(help: "A Redis, for the case in which clients reconnect to a restarted gateway.") var redis: String?
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
            let delivered = try await (deliver(.gateway()), deliver(.bare))
            try add(BenchRow(what: "delivered a second", gateway: delivered.0, bare: delivered.1))
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
            guard json else { return }
            try ToolOutput.print(json: try ["rows": rows].json())
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
            String(format: "%@: %.0f, of a server that only writes %.0f, ratio %.2f", what, gateway, bare, ratio)
        }
    }

    /// A server process of the benchmark, and the commands to it.
    private final class BenchProcess {
        let port: Int
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
            process.arguments = ["gateway", "bench-server", "--users", "\(users)", "--admission", "\(kind.admission)"]
            if !kind.speaks { process.arguments?.append("--bare") }
            if let redis = kind.redis { process.arguments?.append(contentsOf: ["--redis", redis]) }
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            guard let port = Int(Self.line(output)) else { throw ValidationError("the bench's server didn't start") }
            self.port = port
        }

        var residentBytes: Int { ResidentMemory.bytes(of: process.processIdentifier) }

        func push(_ events: Int, _ bytes: Int) {
            try? input.fileHandleForWriting.write(contentsOf: Data("push \(events) \(bytes)\n".utf8))
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
