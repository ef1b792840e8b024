#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The two file descriptors of a link and the one that wakes the threads which wait on them.
///
/// Owned by the link's two threads; `interrupt` may be called from any thread.
final class Descriptors: Sendable {
    enum Readiness {
        case ready, interrupted
        case failed(Int32)
    }

    enum Outcome {
        /// So many bytes; reading 0 is the end of the input.
        case moved(Int)
        case interrupted
        case failed(Int32)
    }

    let input: Int32
    let output: Int32
    private let closes: Bool
    private let outputIsSocket: Bool
    /// The most that one write may move without blocking once `poll` has said that there is room.
    private let writeBytesMax: Int
    private let wakeInput: Int32
    private let wakeOutput: Int32

    /// - Parameter closes: closes both descriptors with the object.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; nothing has been closed then.
    init(input: Int32, output: Int32, closes: Bool) throws(PipeError) {
        _ = try Self.status(of: input, named: "input")
        let outputMode = try Self.status(of: output, named: "output").st_mode & S_IFMT
        var wake: [Int32] = [-1, -1]
        guard pipe(&wake) == 0 else { throw .systemCallFailed("pipe", errno) }
        for descriptor in wake { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        self.input = input
        self.output = output
        self.closes = closes
        (wakeInput, wakeOutput) = (wake[0], wake[1])
        outputIsSocket = outputMode == S_IFSOCK
        // A pipe that polls as writable has room for PIPE_BUF bytes; a longer write to it could block for ever when the
        // other side has stopped reading. Sockets are asked not to block, and files never do for long.
        writeBytesMax = outputIsSocket || outputMode == S_IFREG ? 65_536 : 4096
        #if canImport(Darwin)
            if outputIsSocket {
                var yes: Int32 = 1
                setsockopt(output, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
            } else {
                _ = fcntl(output, F_SETNOSIGPIPE, 1)
            }
        #endif
    }

    deinit {
        for descriptor in [wakeInput, wakeOutput] { _ = systemClose(descriptor) }
        guard closes else { return }
        _ = systemClose(input)
        if output != input { _ = systemClose(output) }
    }

    /// Ends every wait, now and later.
    func interrupt() {
        var byte: UInt8 = 1
        // The byte is never read, so the descriptor stays readable for whoever polls it.
        _ = systemWrite(wakeOutput, &byte, 1)
    }

    /// The other side has closed its end.
    static func isPeerGone(_ errorNumber: Int32) -> Bool { errorNumber == EPIPE || errorNumber == ECONNRESET }

    /// Waits for bytes and moves them into `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        while true {
            switch wait(for: input, POLLIN) {
            case .interrupted: return .interrupted
            case .failed(let number): return .failed(number)
            case .ready: break
            }
            let count = systemRead(input, buffer.baseAddress, buffer.count)
            if count >= 0 { return .moved(count) }
            if errno != EINTR, errno != EAGAIN { return .failed(errno) }
        }
    }

    /// Waits for room and moves a part of `bytes`, at least one byte.
    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        while true {
            switch wait(for: output, POLLOUT) {
            case .interrupted: return .interrupted
            case .failed(let number): return .failed(number)
            case .ready: break
            }
            let count = writeOnce(bytes.baseAddress, min(bytes.count, writeBytesMax))
            if count >= 0 { return .moved(count) }
            if errno != EINTR, errno != EAGAIN { return .failed(errno) }
        }
    }

    private func writeOnce(_ start: UnsafeRawPointer?, _ count: Int) -> Int {
        guard outputIsSocket else { return systemWrite(output, start, count) }
        #if canImport(Darwin)
            return send(output, start, count, MSG_DONTWAIT)
        #else
            return send(output, start, count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        #endif
    }

    private func wait(for descriptor: Int32, _ event: Int32) -> Readiness {
        while true {
            var waiting = [
                pollfd(fd: descriptor, events: Int16(event), revents: 0),
                pollfd(fd: wakeInput, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&waiting, 2, -1)
            if count < 0, errno != EINTR { return .failed(errno) }
            guard count > 0 else { continue }
            if waiting[1].revents != 0 { return .interrupted }
            if waiting[0].revents & Int16(POLLNVAL) != 0 { return .failed(EBADF) }
            // A hang-up or an error is found by the call that follows.
            return .ready
        }
    }

    private static func status(of descriptor: Int32, named name: String) throws(PipeError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw PipeError(code: .badDescriptor, message: "\(name) \(descriptor)", errorNumber: errno)
        }
        return status
    }
}

// Methods of the same names hide the system's.
private func systemRead(_ descriptor: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, start, count)
}

private func systemWrite(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, start, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
