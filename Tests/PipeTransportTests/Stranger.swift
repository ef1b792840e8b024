import Dispatch
import Foundation
import Testing

@testable import MeshPipeTransport

/// A process of another user. Only root can start one.
final class Stranger: Sendable {
    static let isPossible = geteuid() == 0
    static let needsRoot: Comment = "needs root, to become another user"
    /// The user who owns nothing.
    static let user: UInt32 = 65534

    private let process = Process()
    private let output = Pipe()

    /// - Parameter script: Python, run as the other user; `path` is what it is given, and what it prints are lines.
    init(_ script: String, path: String) throws {
        let prologue = """
            import os, socket, sys, fcntl, signal
            os.closerange(3, 4096)
            os.setgroups([]); os.setgid(\(Self.user)); os.setuid(\(Self.user)); os.umask(0)
            path = sys.argv[1]
            def say(text): print(text, flush=True)

            """
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", prologue + script, path]
        process.standardOutput = output
        try process.run()
    }

    /// The next line, without its end.
    func line() async -> String {
        let descriptor = output.fileHandleForReading.fileDescriptor
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "stranger").async {
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
                continuation.resume(returning: String(decoding: line, as: UTF8.self))
            }
        }
    }

    /// The threads that tests run on block the other signals, and a child inherits that.
    func end() { kill(process.processIdentifier, SIGKILL) }

    /// Listens at the path, and says how many bytes each that connects has sent by its end.
    static let listens = """
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        say("listens")
        while True:
            connection, count = listener.accept()[0], 0
            while piece := connection.recv(4096): count += len(piece)
            say(f"{count} bytes")
        """

    /// Connects to the path, and says how many bytes came by the end.
    static let connects = """
        connection, count = socket.socket(socket.AF_UNIX), 0
        connection.connect(path)
        while piece := connection.recv(4096): count += len(piece)
        say(f"{count} bytes")
        """

    /// Holds the lock beside the path.
    static let locks = """
        lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        say("locks")
        signal.pause()
        """
}
