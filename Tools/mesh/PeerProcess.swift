#if CommandLineTools
    import Foundation
    import SessionMesh
    import WorkoutExample

    /// One `mesh peer` as a child process. Its reports arrive in the order in which it made them, its end last.
    final class PeerProcess: Sendable {
        enum Event: Sendable {
            case report(PeerReport)
            /// A line on its stderr that is no report: what a runtime says before it dies.
            case remark(String)
            case ended(status: Int32, wasKilled: Bool)
        }

        let actor: ReplayPlan.Actor
        private let process: Locked<Process>
        private let end = Locked(End())

        private struct End {
            var isSilent = false
            var status: (code: Int32, wasKilled: Bool)?
        }

        /// Starts the child. `input` and `output` may be closed here as soon as this returns.
        /// - Parameter receive: called on any thread, one call at a time.
        /// - Throws: what the system says when it cannot start a process.
        init(
            _ actor: ReplayPlan.Actor, arguments: [String], input: FileHandle, output: FileHandle,
            receive: @escaping @Sendable (Event) -> Void
        ) throws {
            guard let executable = Bundle.main.executableURL else { throw ToolError("cannot find the mesh executable") }
            self.actor = actor
            let process = Process()
            process.executableURL = executable
            process.arguments = ["peer", "--name", actor.rawValue, "--json", "--as-child"] + arguments
            process.standardInput = input
            process.standardOutput = output
            let reports = Pipe()
            process.standardError = reports
            self.process = Locked(process)

            let lines = Locked(LineBuffer())
            reports.fileHandleForReading.readabilityHandler = { [weak self] handle in
                let data = handle.availableData
                for line in lines.withLock({ $0.add(data) }) {
                    receive(PeerReport(line: line).map { .report($0) } ?? .remark(line))
                }
                guard data.isEmpty else { return }
                handle.readabilityHandler = nil
                self?.finish(receive) { $0.isSilent = true }
            }
            process.terminationHandler = { [weak self] process in
                let status = (process.terminationStatus, process.terminationReason == .uncaughtSignal)
                self?.finish(receive) { $0.status = status }
            }
            try process.run()
        }

        /// At once and for good: a peer has nothing that it would have to save.
        func kill() {
            process.withLock { process in
                guard process.isRunning else { return }
                _ = Foundation.kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
        }

        /// Tells the end once the child is gone and all that it said has been read.
        private func finish(_ receive: (Event) -> Void, _ change: (inout End) -> Void) {
            let status = end.withLock { end in
                change(&end)
                return end.isSilent ? end.status : nil
            }
            if let status { receive(.ended(status: status.code, wasKilled: status.wasKilled)) }
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
