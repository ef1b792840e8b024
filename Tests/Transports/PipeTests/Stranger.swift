import Foundation
import MeshTestSupport
import Testing

@testable import MeshPipeTransport

/// A process of another user. Only root can start one.
enum Stranger {
    static let isPossible = geteuid() == 0
    static let needsRoot: Comment = "needs root, to become another user"
    /// A user that owns nothing.
    static let user: UInt32 = 65534

    /// - Parameters:
    ///   - script: Python, run as the other user. `path` is its argument, and it prints lines.
    ///   - line: the first line that it must write.
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
            try #require(await program.line() == line, "another user's process doesn't start; its output is above")
        }
        return program
    }

    /// Listens at the path, and reports how many bytes each connection has sent by its end.
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

    /// Connects to the path, and reports how many bytes it received by the end.
    static let connects = """
        connection, count = socket.socket(socket.AF_UNIX), 0
        connection.connect(path)
        while piece := connection.recv(4096): count += len(piece)
        say(f"{count} bytes")
        """

    /// Holds the lock file of the path.
    static let locks = """
        lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        say("locks")
        signal.pause()
        """
}
