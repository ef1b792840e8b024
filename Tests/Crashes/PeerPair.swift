#if CommandLineTools && SQLite
    import Foundation
    import MeshBase

    /// The time after which a process counts as hung. Long enough for any busy machine.
    let hangs = Duration.seconds(600)

    /// Both sides as child processes, connected to each other.
    final class PeerPair {
        private var children: [Side: Child] = [:]

        init(folders: [Side: SideFolder], launch: Int, settling: Bool) throws {
            let (toLeft, toRight) = (Pipe(), Pipe())
            for side in Side.allCases {
                guard let folder = folders[side] else { continue }
                let (input, output) = side == .left ? (toLeft, toRight) : (toRight, toLeft)
                var arguments = [
                    "peer", "--side", "\(side)", "--folder", folder.url.deletingLastPathComponent().path, "--launch",
                    "\(launch)",
                ]
                if settling { arguments.append("--settles") }
                children[side] = try Child(
                    arguments, input: input.fileHandleForReading, output: output.fileHandleForWriting)
            }
            // If an end stayed open here, one side wouldn't notice that the other is gone.
            for pipe in [toLeft, toRight] {
                try pipe.fileHandleForReading.close()
                try pipe.fileHandleForWriting.close()
            }
        }

        /// - Returns: False if it had already exited.
        func kill(_ side: Side) -> Bool { children[side]?.kill() ?? false }

        func standing(of side: Side) -> Standing? { children[side]?.standing }

        /// The message of a child that gave up.
        var failure: String? { children.values.compactMap(\.failure).first }

        /// - Throws: The message of a child that gave up, or an error if one doesn't exit.
        func waitForEnd() throws {
            let deadline = ContinuousClock.now + hangs
            while children.values.contains(where: { $0.isRunning }) {
                guard ContinuousClock.now < deadline else {
                    throw CrashTestError("a peer doesn't notice the other's exit")
                }
                Thread.sleep(forTimeInterval: 0.001)
            }
            if let failure { throw CrashTestError("a peer \(failure)") }
        }

        func end() {
            for child in children.values { _ = child.kill() }
            for child in children.values { child.waitUntilExit() }
        }
    }

    /// A peer in its own process, and its messages on stderr.
    final class Child: Sendable {
        private struct Said {
            var standing: Standing?
            var failure: String?
            var rest = ""

            mutating func take(_ text: String) {
                rest += text
                while let end = rest.firstIndex(of: "\n") {
                    let line = rest[..<end]
                    if let standing = Standing(line: line) {
                        self.standing = standing
                    } else if failure == nil, !line.isEmpty {
                        failure = String(line.prefix(300))
                    }
                    rest.removeSubrange(...end)
                }
            }
        }

        private let process = Process()
        private let said = Locked(Said())

        /// - Parameter input: A `FileHandle`, or a `Pipe` of which this side keeps the other end.
        init(_ arguments: [String], input: Any, output: FileHandle) throws {
            guard let executable = Bundle.main.executableURL else {
                throw CrashTestError("cannot find the executable")
            }
            let remarks = Pipe()
            process.executableURL = executable
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = output
            process.standardError = remarks
            try process.run()
            let handle = remarks.fileHandleForReading
            Thread { [said] in
                while true {
                    let data = handle.availableData
                    if data.isEmpty { return }
                    said.withLock { $0.take(String(decoding: data, as: UTF8.self)) }
                }
            }.start()
        }

        var standing: Standing? { said.withLock { $0.standing } }
        var failure: String? { said.withLock { $0.failure } }
        var isRunning: Bool { process.isRunning }

        func kill() -> Bool {
            guard process.isRunning else { return false }
            return Foundation.kill(process.processIdentifier, SIGKILL) == 0
        }

        func waitUntilExit() { process.waitUntilExit() }
    }
#endif
