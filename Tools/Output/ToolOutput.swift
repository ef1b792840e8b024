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

/// Prints the tools' output. Much of it comes from peers. This type alone makes all of it printable (`String.printable`),
/// except the tool's own cursor controls.
///
/// Output isn't buffered. Calls block until the reader has taken it.
package enum ToolOutput {
    /// Prepares the process. Call it first. A reader that exits then doesn't end the process with a signal. And no file that the
    /// tool opens can take the number of a closed standard stream.
    package static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in 0...2 as ClosedRange<Int32> where fcntl(descriptor, F_GETFD) == -1 {
            // `open` returns the lowest free number, which is this one. Writing to it still fails.
            _ = open("/dev/null", O_RDONLY)
        }
    }

    /// Prints lines on standard output.
    package static func print(_ text: String) throws(OutputError) {
        try write(text.printable(keepsLines: true) + "\n")
    }

    /// Prints JSON on standard output.
    package static func print(json: String) throws(OutputError) { try write(json.printableJSON + "\n") }

    /// Draws on the terminal at standard output, with the tool's own controls. The caller has made other text printable.
    package static func draw(_ text: String) throws(OutputError) { try write(text) }

    /// Prints lines on standard error. Ignores failures.
    package static func remark(_ text: String) { drawRemark(text.printable(keepsLines: true) + "\n") }

    /// Draws on standard error like `draw`. Ignores failures.
    package static func drawRemark(_ text: String) { try? OpenOutput(descriptor: STDERR_FILENO).write(text) }

    /// Maximum number of characters in a line, from COLUMNS or the terminal at standard output; nil for no limit.
    package static var width: Int? { width(of: STDOUT_FILENO) }

    /// Returns the maximum number of characters in a line, from COLUMNS or the terminal at the descriptor; nil for no limit.
    package static func width(of descriptor: Int32) -> Int? {
        if let columns = getenv("COLUMNS"), let width = Int(String(cString: columns)), width > 0 { return width }
        return size(of: descriptor)?.columns
    }

    /// Returns the size of the terminal at the descriptor; nil if there is no terminal or its size is unknown.
    package static func size(of descriptor: Int32) -> (columns: Int, lines: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private static func write(_ text: String) throws(OutputError) {
        try OpenOutput(descriptor: STDOUT_FILENO).write(text)
    }
}

/// A descriptor for output of any kind.
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

/// The output could not be written.
package struct OutputError: Error, Hashable, Sendable, CustomStringConvertible {
    package let errorNumber: Int32

    package init(errorNumber: Int32) { self.errorNumber = errorNumber }

    /// True if the reader has exited, usually on purpose (`| head`).
    package var isReaderGone: Bool { errorNumber == EPIPE }

    /// The status of a process that SIGPIPE has ended, as in a shell; 1 for other errors.
    package var exitStatus: Int32 { isReaderGone ? 128 + SIGPIPE : 1 }

    package var description: String {
        "nothing can be written to standard output: \(String(cString: strerror(errorNumber)))"
    }
}

extension ToolOutput {
    /// Ends the process as the error requires. Quiet if the reader has exited.
    /// - Parameters:
    ///   - message: Text for the user. Printed on standard output if the status is 0, as for a help text.
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
