#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshToolOutput
    import WorkoutExample

    /// One `mesh play` as a child process. Its reports arrive in the order in which it made them, its end last.
    final class PeerProcess: Sendable {
        enum Event: Sendable {
            case report(PeerReport)
            /// A line on its stderr that is no report: what a runtime says before it dies.
            case remark(String)
            case ended(status: Int32, wasKilled: Bool)
        }

        private let process: Locked<Process>

        /// Starts the child. `input` and `output` may be closed here as soon as this returns.
        /// - Parameter receive: called on a thread of this child's own.
        /// - Throws: what the system says when it cannot start a process.
        init(
            _ actor: ReplayPlan.Actor, arguments: [String], secrets: [String: String], input: FileHandle,
            output: FileHandle,
            receive: @escaping @Sendable (Event) -> Void
        ) throws {
            guard let executable = Bundle.main.executableURL else { throw ToolError("cannot find the mesh executable") }
            let process = Process()
            process.executableURL = executable
            process.arguments = ["play", "--name", actor.rawValue, "--json", "--as-child"] + arguments
            process.environment = ProcessInfo.processInfo.environment.merging(secrets) { $1 }
            process.standardInput = input
            process.standardOutput = output
            let reports = Pipe()
            process.standardError = reports
            self.process = Locked(process)
            try process.run()
            let thread = Thread { self.follow(reports.fileHandleForReading, receive) }
            thread.start()
        }

        /// At once and for good: a peer has nothing that it would have to save.
        func kill() {
            process.withLock { process in
                if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
            }
        }

        /// Blocks until the child has said all and is gone.
        private func follow(_ reports: FileHandle, _ receive: (Event) -> Void) {
            var lines = LineBuffer()
            var data: Data
            repeat {
                data = reports.availableData
                for line in lines.add(data) {
                    receive(PeerReport(line: line).map { .report($0) } ?? .remark(line))
                }
            } while !data.isEmpty
            // Not `waitUntilExit`, which would hold the lock that `kill` needs.
            while process.withLock({ $0.isRunning }) { Thread.sleep(forTimeInterval: 0.005) }
            receive(
                process.withLock { process in
                    .ended(status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal)
                })
        }
    }

    /// Cuts bytes into lines of at most 64 KiB; what is longer is cut there.
    struct LineBuffer {
        private static let bytesMax = 1 << 16
        private var rest: [UInt8] = []

        /// The lines that are complete now; all that is left when there is no more data.
        mutating func add(_ data: Data) -> [String] {
            rest += data
            var lines: [String] = []
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
            if !rest.isEmpty, data.isEmpty || rest.count > Self.bytesMax {
                lines.append(String(decoding: rest, as: UTF8.self))
                rest = []
            }
            return lines
        }
    }
#endif
