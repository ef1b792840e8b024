#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshToolOutput
    import WorkoutExample

    /// A child process that runs `mesh play`. Its reports arrive in order, its end last.
    final class PeerProcess: Sendable {
        enum Event: Sendable {
            case report(PeerReport)
            /// A line on stderr that isn't a report, such as a runtime's last message before a crash.
            case remark(String)
            case ended(status: Int32, wasKilled: Bool)
        }

        private let process: Locked<Process>

        /// Starts the child. The caller may close `input` and `output` as soon as this returns.
        /// - Parameter receive: Called on a thread of this child.
        /// - Throws: The system's error if it can't start a process.
        init(
            _ actor: ReplayPlan.Actor, arguments: [String], secrets: [String: String], input: FileHandle,
            output: FileHandle,
            receive: @escaping @Sendable (Event) -> Void
        ) throws {
            guard let executable = Bundle.main.executableURL else { throw ToolError("can't find the mesh executable") }
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

        /// Kills the process at once. A peer has nothing to save.
        func kill() {
            process.withLock { process in
                if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) }
            }
        }

        /// Blocks until the child has reported everything and exited.
        private func follow(_ reports: FileHandle, _ receive: (Event) -> Void) {
            var lines = LineBuffer()
            var data: Data
            repeat {
                data = reports.availableData
                for line in lines.add(data) {
                    receive(PeerReport(line: line).map { .report($0) } ?? .remark(line))
                }
            } while !data.isEmpty
            // Not `waitUntilExit`: it would hold the lock that `kill` needs.
            while process.withLock({ $0.isRunning }) { Thread.sleep(forTimeInterval: 0.005) }
            receive(
                process.withLock { process in
                    .ended(status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal)
                })
        }
    }

    /// Splits bytes into lines. Lines longer than 64 KiB are cut.
    struct LineBuffer {
        private static let bytesMax = 1 << 16
        private var rest: [UInt8] = []

        /// Returns the lines that are complete now. With empty data, which means the end, returns all that is left.
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
