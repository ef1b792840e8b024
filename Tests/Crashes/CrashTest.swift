#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation

    @main
    struct CrashTest: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "crash-test",
            abstract: "Kills real peers at random instants and looks for what was lost or came twice.",
            discussion: """
                Two processes share a session over a pipe, each with a SQLite store, and tap as fast as they can. One of \
                them, or both, are killed with SIGKILL; now and then a killed one loses its store. Both are started \
                again, until the kills are used up and both have come to rest. The exit code is 1 when an accepted tap \
                is missing that another store had, when one came twice, or when the two sides differ.
                """,
            subcommands: [Kills.self, CrashingPeer.self], defaultSubcommand: Kills.self)
    }

    struct Kills: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "kills", abstract: "Runs the test.")

        @Option(help: "How many times a peer is killed.")
        var kills = 200

        @Option(
            help: "Draws who is killed, when, and who loses its store; instants are the machine's own all the same.")
        var seed: UInt64?

        @Option(help: ArgumentHelp("Keeps stores and ledgers there; by default they are removed.", valueName: "folder"))
        var keep: String?

        @Flag(help: "The counts as JSON.")
        var json = false

        func run() async throws {
            let seed = seed ?? .random(in: 0...UInt64(UInt32.max))
            let folder =
                keep.map { URL(fileURLWithPath: $0) }
                ?? FileManager.default.temporaryDirectory.appendingPathComponent("crash-test-\(UUID().uuidString)")
            defer { if keep == nil { try? FileManager.default.removeItem(at: folder) } }
            var run = try CrashRun(kills: kills, seed: seed, folder: folder)
            let isTerminal = isatty(STDERR_FILENO) == 1
            let report = try run.perform { done in
                if isTerminal { FileHandle.standardError.write(Data("\r\(done) of \(kills) kills".utf8)) }
            }
            if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
            if json {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
                print(String(decoding: try encoder.encode(report), as: UTF8.self))
            } else {
                print(report.text)
            }
            if !report.failures.isEmpty { throw ExitCode.failure }
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
