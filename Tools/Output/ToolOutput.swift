import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the tools say. Much of it has come from peers: everything but the tool's own cursor controls is made printable on
/// its way out (`String.printable`), here and nowhere else.
///
/// Nothing is buffered; calls block for as long as the reader takes.
package enum ToolOutput {
    /// To be called before anything else: a reader who goes is no reason to die in the middle of a thing, and what a tool
    /// opens must not come to stand where its output was closed.
    package static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in 0...2 as ClosedRange<Int32> where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is this one. Writing to it still fails.
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Lines on standard output.
    package static func print(_ text: String) throws(OutputError) {
        try write(text.printable(keepsLines: true) + "\n")
    }

    /// JSON on standard output.
    package static func print(json: String) throws(OutputError) { try write(json.printableJSON + "\n") }

    /// To a terminal at standard output, with the tool's own controls. Other text in it has been made printable.
    package static func draw(_ text: String) throws(OutputError) { try write(text) }

    /// Lines on standard error. Nobody is told when that fails.
    package static func remark(_ text: String) { drawRemark(text.printable(keepsLines: true) + "\n") }

    /// As `draw`, on standard error.
    package static func drawRemark(_ text: String) { try? OpenOutput(descriptor: STDERR_FILENO).write(text) }

    /// How many characters a line may have: what COLUMNS says, or the terminal at standard output; nil for any number.
    package static var width: Int? { width(of: STDOUT_FILENO) }

    /// How many characters a line of that output may have: what COLUMNS says, or the terminal there; nil for any number.
    package static func width(of descriptor: Int32) -> Int? {
        if let columns = getenv("COLUMNS"), let width = Int(String(cString: columns)), width > 0 { return width }
        return size(of: descriptor)?.columns
    }

    /// The size of the terminal at that output; nil where there is none, or where it does not say.
    package static func size(of descriptor: Int32) -> (columns: Int, lines: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private static func write(_ text: String) throws(OutputError) {
        try OpenOutput(descriptor: STDOUT_FILENO).write(text)
    }
}

/// A descriptor to write to, of whatever kind.
struct OpenOutput {
    let descriptor: Int32

    func write(_ text: String) throws(OutputError) {
        var text = text
        let failure = text.withUTF8 { bytes -> Int32? in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = systemWrite(descriptor, rest)
                if count >= 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                } else if errno == EAGAIN || errno == EWOULDBLOCK {
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wanted, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return nil
        }
        if let failure { throw OutputError(errorNumber: failure) }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// What a tool says does not arrive.
package struct OutputError: Error, Hashable, Sendable, CustomStringConvertible {
    package let errorNumber: Int32

    package init(errorNumber: Int32) { self.errorNumber = errorNumber }

    /// Who read it has gone, on purpose as a rule (`| head`).
    package var isReaderGone: Bool { errorNumber == EPIPE }

    /// As a shell tells of a tool that SIGPIPE has ended, else a plain failure.
    package var exitStatus: Int32 { isReaderGone ? 128 + SIGPIPE : 1 }

    package var description: String {
        "nothing can be written to standard output: \(String(cString: strerror(errorNumber)))"
    }
}

extension ToolOutput {
    /// Ends the process as the error asks: quietly when nobody reads any more.
    /// - Parameters:
    ///   - message: what a person is told; goes to standard output when the status is 0, as a help text does.
    package static func exit(_ error: any Error, message: String, status: Int32) -> Never {
        do throws(OutputError) {
            if let error = error as? OutputError { throw error }
            if status != 0 {
                if !message.isEmpty { remark(message) }
            } else if !message.isEmpty {
                try print(message)
            }
            terminate(status)
        } catch {
            if !error.isReaderGone { remark("Error: \(error)") }
            terminate(error.exitStatus)
        }
    }

    private static func terminate(_ status: Int32) -> Never { systemExit(status) }
}

private func systemExit(_ status: Int32) -> Never { exit(status) }
