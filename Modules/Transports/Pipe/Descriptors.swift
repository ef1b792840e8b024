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

/// The two file descriptors of a connection. Neither one's flags are changed, since other processes may share them: a
/// socket is asked with each call not to block, and a pipe is opened once more where the system can (Linux), so that the
/// flag is this side's alone.
///
/// One thread reads and one writes; `interrupt` may be called from any thread.
final class Descriptors: Sendable {
    enum Outcome {
        /// So many bytes; reading 0 is the end of the input.
        case moved(Int)
        /// It would have to wait, and may not or no longer.
        case interrupted
        case failed(Int32)
    }

    /// A write never blocks, so that it may be made on anybody's thread.
    let writesAtOnce: Bool
    private let input: Int32
    private let output: Int32
    private let closes: Bool
    private let inputIsSocket: Bool
    private let outputIsSocket: Bool
    /// The same ends under descriptors that do not block; -1 where there are none.
    private let ownInput: Int32
    private let ownOutput: Int32
    /// The most that one write may move without blocking once `poll` has said that there is room.
    private let writeBytesMax: Int
    private let wake: WakePipe

    /// - Parameter closes: closes both descriptors with the object.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; nothing has been closed then.
    init(input: Int32, output: Int32, closes: Bool) throws(PipeError) {
        let inputMode = try Self.status(of: input, named: "input").st_mode & S_IFMT
        let outputMode = try Self.status(of: output, named: "output").st_mode & S_IFMT
        wake = try PipeError.translating(WakePipe())
        self.input = input
        self.output = output
        self.closes = closes
        inputIsSocket = inputMode == S_IFSOCK
        outputIsSocket = outputMode == S_IFSOCK
        ownInput = inputMode == S_IFIFO ? Self.reopened(input, O_RDONLY) : -1
        ownOutput = outputMode == S_IFIFO ? Self.reopened(output, O_WRONLY) : -1
        writesAtOnce = outputIsSocket || ownOutput >= 0
        // A pipe that polls as writable has room for PIPE_BUF bytes; a longer write that may block could do so for ever
        // when the other side has stopped reading. Files never do for long.
        writeBytesMax = writesAtOnce || outputMode == S_IFREG ? 65_536 : 4096
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
        for own in [ownInput, ownOutput] where own >= 0 { _ = systemClose(own) }
        guard closes else { return }
        _ = systemClose(input)
        if output != input { _ = systemClose(output) }
    }

    /// Ends every wait, now and later.
    func interrupt() { wake.signal() }

    /// The other side has closed its end.
    static func isPeerGone(_ errorNumber: Int32) -> Bool { errorNumber == EPIPE || errorNumber == ECONNRESET }

    /// Moves bytes into `buffer`.
    /// - Parameter waits: until there are some.
    func read(into buffer: UnsafeMutableRawBufferPointer, waits: Bool = true) -> Outcome {
        while true {
            // What does not block can be asked at once, which spares the call that waits while bytes keep coming.
            if !inputIsSocket, ownInput < 0, let obstacle = obstacle(to: input, POLLIN, waits: waits) {
                return obstacle
            }
            let count = readOnce(buffer)
            if count >= 0 { return .moved(count) }
            if errno == EINTR { continue }
            guard errno == EAGAIN || errno == EWOULDBLOCK else { return .failed(errno) }
            if let obstacle = obstacle(to: input, POLLIN, waits: waits) { return obstacle }
        }
    }

    /// Moves a part of `bytes`, at least one byte.
    /// - Parameter waits: until there is room.
    func write(_ bytes: UnsafeRawBufferPointer, waits: Bool = true) -> Outcome {
        while true {
            if !writesAtOnce, let obstacle = obstacle(to: output, POLLOUT, waits: waits) { return obstacle }
            let count = writeOnce(bytes.baseAddress, min(bytes.count, writeBytesMax))
            if count >= 0 { return .moved(count) }
            if errno == EINTR { continue }
            guard errno == EAGAIN || errno == EWOULDBLOCK else { return .failed(errno) }
            if let obstacle = obstacle(to: output, POLLOUT, waits: waits) { return obstacle }
        }
    }

    /// The same on a thread that is not this connection's: nothing waits, and a pipe whose reader has gone signals nobody.
    func writeAtOnce(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard !outputIsSocket else { return write(bytes, waits: false) }
        return PipeSignal.withheld {
            write(bytes, waits: false)
        } isRaised: { outcome in
            if case .failed(EPIPE) = outcome { true } else { false }
        }
    }

    /// Waits, if it may; nil when the descriptor is ready.
    private func obstacle(to descriptor: Int32, _ event: Int32, waits: Bool) -> Outcome? {
        guard waits else { return WakePipe.isReady(descriptor, event) ? nil : .interrupted }
        return switch wake.wait(for: descriptor, event) {
        case .ready: nil
        case .woken, .timedOut: .interrupted
        case .failed(let number): .failed(number)
        }
    }

    private func readOnce(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard inputIsSocket else {
            return systemRead(ownInput >= 0 ? ownInput : input, buffer.baseAddress, buffer.count)
        }
        return recv(input, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
    }

    private func writeOnce(_ start: UnsafeRawPointer?, _ count: Int) -> Int {
        guard outputIsSocket else { return systemWrite(ownOutput >= 0 ? ownOutput : output, start, count) }
        #if canImport(Darwin)
            return send(output, start, count, MSG_DONTWAIT)
        #else
            return send(output, start, count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        #endif
    }

    /// Another description of a pipe's end, which does not block; -1 where the system has no such way, or nobody is at the
    /// other end any more.
    private static func reopened(_ descriptor: Int32, _ access: Int32) -> Int32 {
        #if os(Linux) || os(Android)
            open("/proc/self/fd/\(descriptor)", access | O_NONBLOCK | O_CLOEXEC)
        #else
            -1
        #endif
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
