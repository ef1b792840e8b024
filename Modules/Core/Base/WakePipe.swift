#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A pipe that lets a thread wait for a descriptor, and lets other threads end that wait.
package final class WakePipe: Sendable {
    package enum Readiness {
        case ready, woken, timedOut
        case failed(Int32)
    }

    private let input: Int32
    private let output: Int32

    package init() throws(SystemCallError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemCallError("pipe", errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (input, output) = (ends[0], ends[1])
    }

    deinit {
        close(input)
        close(output)
    }

    /// Ends the current wait. Later waits end at once until `clear` is called.
    package func signal() {
        var byte: UInt8 = 1
        _ = write(output, &byte, 1)
    }

    /// Discards all signals so far.
    package func clear() {
        var bytes: UInt64 = 0
        while read(input, &bytes, 8) > 0 {}
    }

    /// Waits for a signal only.
    /// - Parameter timeoutMilliseconds: nil waits forever.
    package func wait(timeoutMilliseconds: Int32? = nil) -> Readiness {
        wait(for: -1, 0, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Waits until the descriptor is ready for `event`. A negative descriptor never is. A signal ends the wait and
    /// takes precedence.
    /// - Parameters:
    ///   - event: `POLLIN` or `POLLOUT`. With 0, the descriptor ends the wait only by an error or a hang-up.
    ///   - timeoutMilliseconds: nil waits forever.
    package func wait(for descriptor: Int32, _ event: Int32, timeoutMilliseconds: Int32? = nil) -> Readiness {
        while true {
            var waiting = (
                pollfd(fd: input, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(event), revents: 0)
            )
            let count = withUnsafeMutableBytes(of: &waiting) { bytes in
                bytes.withMemoryRebound(to: pollfd.self) { poll($0.baseAddress, 2, timeoutMilliseconds ?? -1) }
            }
            if count < 0 {
                // The full timeout starts again, which callers tolerate.
                guard errno == EINTR || errno == EAGAIN else { return .failed(errno) }
                continue
            }
            if waiting.0.revents != 0 { return .woken }
            if waiting.1.revents & Int16(POLLNVAL) != 0 { return .failed(EBADF) }
            // After a hang-up or an error, the caller's next call on the descriptor fails.
            return waiting.1.revents == 0 ? .timedOut : .ready
        }
    }

    /// Waits for a signal, or until one of the descriptors is readable or has failed.
    /// - Parameter timeoutMilliseconds: nil waits forever.
    /// - Returns: Indexes of the descriptors that are readable or have failed. Empty if only a signal, a timeout or an
    ///   interruption ended the wait.
    package func wait(for descriptors: [Int32], timeoutMilliseconds: Int32?) -> [Int] {
        var waiting = ([input] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&waiting, nfds_t(waiting.count), timeoutMilliseconds ?? -1) > 0 else { return [] }
        return descriptors.indices.filter { waiting[$0 + 1].revents != 0 }
    }

    /// Returns true if the descriptor is ready for `event` now.
    package static func isReady(_ descriptor: Int32, _ event: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }
}
