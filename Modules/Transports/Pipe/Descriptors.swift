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

/// The two file descriptors of a connection. Other processes may share them, so they aren't made non-blocking. Instead,
/// each call on a socket asks not to block. A pipe is opened again where the system supports that (Linux), so that the
/// non-blocking flag belongs to this side alone.
///
/// One thread reads and one writes; `interrupt` may be called from any thread.
final class Descriptors: Sendable {
    enum Outcome {
        /// Number of bytes moved; reading 0 is the end of the input.
        case moved(Int)
        /// The call would have to wait, but mustn't, or was interrupted.
        case interrupted
        case failed(Int32)
    }

    /// True if a write never blocks, so it may be made on any thread.
    let writesAtOnce: Bool
    private let input: Int32
    private let output: Int32
    private let closes: Bool
    private let inputIsSocket: Bool
    private let outputIsSocket: Bool
    /// Non-blocking descriptors of the two ends; -1 if there are none.
    private let ownInput: Int32
    private let ownOutput: Int32
    /// Maximum number of bytes of one write that won't block after `poll` has reported space.
    private let writeBytesMax: Int
    private let wake: WakePipe

    /// - Parameter closes: true to close both descriptors with the object.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; the descriptors stay open.
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
        // A pipe that polls as writable has space for PIPE_BUF bytes. A longer blocking write could block forever if
        // the other side has stopped reading. Files never block for long.
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

    /// Ends every current and later wait.
    func interrupt() { wake.signal() }

    /// Returns true if the error means that the other side has closed its end.
    static func isPeerGone(_ errorNumber: Int32) -> Bool { errorNumber == EPIPE || errorNumber == ECONNRESET }

    /// Reads bytes into `buffer`.
    /// - Parameter waits: true to wait until there are some.
    func read(into buffer: UnsafeMutableRawBufferPointer, waits: Bool = true) -> Outcome {
        while true {
            // A non-blocking descriptor is read at once. While bytes keep coming, this saves the call that waits.
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

    /// Writes a part of `bytes`, at least one byte.
    /// - Parameter waits: true to wait until there is space.
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

    /// Writes on a thread that doesn't belong to this connection: it never waits, and a pipe without a reader raises no
    /// signal.
    func writeAtOnce(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard !outputIsSocket else { return write(bytes, waits: false) }
        return PipeSignal.blockingSIGPIPE {
            write(bytes, waits: false)
        } isRaised: { outcome in
            if case .failed(EPIPE) = outcome { true } else { false }
        }
    }

    /// Returns nil if the descriptor is ready, otherwise the outcome to return instead. Waits for the descriptor if
    /// `waits` is true.
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

    /// Opens a pipe's end again without blocking. Returns -1 if the system can't, or if the other end is closed.
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

// Methods with these names hide the system's functions.
private func systemRead(_ descriptor: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, start, count)
}

private func systemWrite(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, start, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
