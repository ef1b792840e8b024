#if CommandLineTools && WebSocket
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshToolOutput

    struct GatewayBenchCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench", abstract: "A gateway beside a WebSocket server that only writes, in one run.",
            discussion: """
                Server and load are processes of their own, on this machine. Ratios count: events delivered a second (the \
                gateway's by the other's), memory of an idle session (the gateway's by the other's), and the return of all \
                clients after every connection was cut, with missed events each, by pushing the same bytes. With --redis the \
                gateway is killed and started again too, once with admission and once without.
                """)

        @Option(help: "Idle sessions, and clients that come back.") var sessions = 10_000
        @Option(help: "Clients that events are delivered to.") var clients = 1000
        @Option(help: "Events for each of them.") var events = 100
        @Option(help: "Events that each client has missed when it comes back.") var missed = 100
        @Option(help: "Bytes of an event's payload.") var bytes = 100
        @Option(help: ArgumentHelp("An empty Redis of this machine's.", valueName: "url")) var redis: String?
        @Option(help: "Handshakes a second that a gateway that was started again admits.") var admission = 500

        func run() async throws {
            DescriptorLimit.raise(to: 65_536)
            let gateway = try await measure(bare: false)
            let bare = try await measure(bare: true)
            try say("delivered a second", gateway.delivered, bare.delivered, gateway.delivered / bare.delivered)
            try say(
                "bytes of an idle session", gateway.idleBytes, bare.idleBytes, gateway.idleBytes / bare.idleBytes)
            try say("seconds until all are back", gateway.back, bare.back, bare.back / gateway.back)
            guard let redis else { return }
            let seconds = try await restart(redis, admission: 0)
            try say("seconds until all are back after a restart", seconds, bare.back, bare.back / seconds)
            let admitted = try await restart(redis, admission: admission)
            try ToolOutput.print(
                String(format: "the same, with %d admitted a second: %.1f", admission, admitted))
        }

        private func say(_ what: String, _ ours: Double, _ other: Double, _ ratio: Double) throws {
            try ToolOutput.print(String(format: "%@: %.1f, only writing %.1f, ratio %.2f", what, ours, other, ratio))
        }

        private struct Figures {
            var delivered = 0.0, idleBytes = 0.0, back = 0.0
        }

        private func measure(bare: Bool) async throws -> Figures {
            var figures = Figures()
            let first = try BenchProcess(bare: bare, users: clients)
            let load = try BenchLoad(port: first.port, speaks: !bare)
            try await load.connect(0..<clients)
            for round in 0..<2 {
                try await load.resetEvents()
                let seconds = try await elapsed {
                    first.push(events, bytes)
                    try await load.waitForEvents(clients * events)
                }
                if round == 1 { figures.delivered = Double(clients * events) / seconds }
            }
            first.end()
            try await load.dropAll()

            let second = try BenchProcess(bare: bare, users: sessions)
            let before = second.residentBytes
            let many = try BenchLoad(port: second.port, speaks: !bare)
            try await many.connect(0..<sessions)
            figures.idleBytes = Double(second.residentBytes - before) / Double(sessions)
            try await many.dropAll()
            if !bare {
                // What is published while they are away. The buffer has it when the process has obeyed.
                second.push(missed, bytes)
                second.pushIsDone()
            }
            try await many.resetEvents()
            figures.back = try await elapsed {
                try await many.connect(0..<sessions)
                if bare { second.push(missed, bytes) }
                try await many.waitForEvents(sessions * missed)
            }
            second.end()
            return figures
        }

        /// The gateway is killed, and events are published to another before its clients come.
        private func restart(_ redis: String, admission: Int) async throws -> Double {
            let first = try BenchProcess(bare: false, users: sessions, redis: redis)
            let load = try BenchLoad(port: first.port, speaks: true)
            try await load.connect(0..<sessions)
            first.kill()
            try await load.areGone()
            let second = try BenchProcess(bare: false, users: sessions, redis: redis, admission: admission)
            defer { second.end() }
            second.push(missed, bytes)
            second.pushIsDone()
            try await load.move(to: second.port)
            try await load.resetEvents()
            let seconds = try await elapsed {
                try await load.connect(0..<sessions)
                try await load.waitForEvents(sessions * missed)
            }
            try await load.dropAll()
            return seconds
        }

        private func elapsed(_ body: () async throws -> Void) async rethrows -> Double {
            let duration = try await ContinuousClock().measure { try await body() }
            return duration / .seconds(1)
        }
    }

    /// A server of the bench's, and what it is told.
    private final class BenchProcess {
        let port: Int
        private let process = Process()
        private let (input, output) = (Pipe(), Pipe())

        init(bare: Bool, users: Int, redis: String? = nil, admission: Int = 0) throws {
            process.executableURL = Bundle.main.executableURL
            process.arguments =
                ["gateway", "bench-server", "--users", "\(users)", "--admission", "\(admission)"]
                + (bare ? ["--bare"] : []) + (redis.map { ["--redis", $0] } ?? [])
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            guard let port = Int(Self.line(output)) else { throw ValidationError("the bench's server does not serve") }
            self.port = port
        }

        var residentBytes: Int { ResidentMemory.bytes(of: process.processIdentifier) }

        func push(_ events: Int, _ bytes: Int) {
            try? input.fileHandleForWriting.write(contentsOf: Data("push \(events) \(bytes)\n".utf8))
        }

        /// Waits until it has obeyed.
        func pushIsDone() { _ = Self.line(output) }

        func end() {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }

        /// Without a word to its clients: the bench's server ends at once.
        func kill() {
            process.terminate()
            process.waitUntilExit()
        }

        private static func line(_ pipe: Pipe) -> String {
            var bytes: [UInt8] = []
            while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { bytes.append(byte) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
