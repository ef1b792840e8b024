import Foundation
import MeshTestSupport
import Testing

@testable import MeshPipeTransport

/// A process of another user. Only root can start one.
enum Stranger {
    static let isPossible = geteuid() == 0
    static let needsRoot: Comment = "needs root, to become another user"
    /// The user who owns nothing.
    static let user: UInt32 = 65534

    /// - Parameters:
    ///   - script: Python, run as the other user; `path` is what it is given, and what it prints are lines.
    ///   - line: what it says first.
    static func start(_ script: String, at path: String, says line: String? = nil) async throws -> Program {
        let prologue = """
            import os, socket, sys, fcntl, signal
            os.closerange(3, 4096)
            os.setgroups([]); os.setgid(\(user)); os.setuid(\(user)); os.umask(0)
            path = sys.argv[1]
            def say(text): print(text, flush=True)
            say("is here")

            """
        let program = try Program("python3", ["-c", prologue + script, path])
        for line in ["is here", line] where line != nil {
            try #require(await program.line() == line, "another user's process does not start, and says why above")
        }
        return program
    }

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
