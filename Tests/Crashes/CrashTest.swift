#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation

    @main
    struct CrashTest: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "crash-test",
            abstract: "Kills real peers at random instants and looks for lost and repeated data.",
            discussion: """
                Two processes share a session over a pipe, each with a SQLite store, and tap as fast as they can. One of \
                them, or both, are killed with SIGKILL; now and then a killed one loses its store. Both are started \
                again, until the kills are used up and both have come to rest. The exit code is 1 when an accepted tap \
                is missing that another store had, when one came twice, or when the two sides differ.
                """,
            subcommands: [Kills.self, Deliveries.self, Reads.self, CrashingPeer.self, DeliveringPeer.self],
            defaultSubcommand: Kills.self)
    }

    struct Kills: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "kills", abstract: "Sessions: two peers share one over a pipe.")

        @Option(help: "Number of times that a peer is killed.")
        var kills = 200

        @Option(
            help:
                "Seed for which peer is killed when, and which store is lost. The exact instants still depend on the machine."
        )
        var seed: UInt64?

        @OptionGroup var output: CrashTestOutput

        func run() async throws {
            try output.inFolder { folder in
                var run = try CrashRun(kills: kills, seed: seed ?? .random(in: 0...UInt64(UInt32.max)), folder: folder)
                let report = try run.perform { output.say("\($0) of \(kills) kills") }
                try output.print(report, text: report.text)
                if !report.failures.isEmpty { throw ExitCode.failure }
            }
        }
    }

    struct Deliveries: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delivery", abstract: "Delivery: two peers send to each other over a Unix socket.",
            discussion: """
                Two processes with durable stores send each other envelopes as `reliableEventually`. One of them, or both, \
                are killed with SIGKILL and come back; the other lives on. The exit code is 1 when an envelope that was \
                accepted did not arrive, or one came twice or out of order.
                """)

        @Option(help: "Number of times that a peer is killed.")
        var kills = 100

        @Option(help: "Seed for which peer is killed when. The exact instants still depend on the machine.")
        var seed: UInt64?

        @OptionGroup var output: CrashTestOutput

        func run() async throws {
            try output.inFolder { folder in
                var run = try DeliveryRun(
                    kills: kills, seed: seed ?? .random(in: 0...UInt64(UInt32.max)), folder: folder)
                let report = try run.perform { output.say("\($0) of \(kills) kills") }
                try output.print(report, text: report.text)
                if !report.failures.isEmpty { throw ExitCode.failure }
            }
        }
    }

    /// The folder of a run, and the form of its report.
    struct CrashTestOutput: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Folder in which stores and ledgers are kept. By default they are removed.", valueName: "folder"))
        var keep: String?

        @Flag(help: "The counts as JSON.")
        var json = false

        func inFolder(_ body: (URL) throws -> Void) throws {
            let name = "crash-test-\(UUID().uuidString.prefix(8))"
            let folder =
                keep.map { URL(fileURLWithPath: $0) }
                ?? FileManager.default.temporaryDirectory.appendingPathComponent(name)
            defer { if keep == nil { try? FileManager.default.removeItem(at: folder) } }
            try body(folder)
        }

        /// Prints the text on a terminal, in a line that changes.
        func say(_ text: String) {
            if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data("\r\(text)".utf8)) }
        }

        func print(_ report: some Encodable, text: String) throws {
            if isatty(STDERR_FILENO) == 1 { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
            guard json else { return Swift.print(text) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            Swift.print(String(decoding: try encoder.encode(report), as: UTF8.self))
        }
    }
#else
    @main
    struct CrashTest {
        static func main() {
            print("crash-test needs the traits CommandLineTools and SQLite: swift run --enable-all-traits crash-test")
            exit(1)
        }
    }

    import Foundation
#endif
