import MeshBase
import Testing

@testable import MeshToolOutput

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

@Suite struct ToolOutputTests {
    /// - Returns: The output of a pipe that `body` has written to.
    private func output(_ body: (OpenOutput) throws -> Void) throws -> String {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        do {
            defer { close(ends[1]) }
            try body(OpenOutput(descriptor: ends[1]))
        }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
    }

    @Test func `All output arrives`() throws {
        let text = String(repeating: "Läuferin 🏃\n", count: 2_000)
        #expect(try output { try $0.write(text) } == text)
        #expect(try output { try $0.write("") } == "")
    }

    @Test func `An unread, closed or full output is an error, not a trap`() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        let unread = #expect(throws: OutputError.self) { try OpenOutput(descriptor: ends[1]).write("text") }
        #expect(unread?.exitStatus == 141)
        close(ends[1])
        let closed = #expect(throws: OutputError.self) { try OpenOutput(descriptor: -1).write("text") }
        #expect(closed?.errorNumber == EBADF)
        #expect(closed?.exitStatus == 1)
        #if os(Linux)
            let descriptor = open("/dev/full", O_WRONLY)
            defer { close(descriptor) }
            let full = #expect(throws: OutputError.self) { try OpenOutput(descriptor: descriptor).write("text") }
            #expect(full?.errorNumber == ENOSPC)
            #expect(full?.exitStatus == 1)
        #endif
    }
}
