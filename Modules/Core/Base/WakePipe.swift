#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Lets a thread wait for a descriptor and others end that wait.
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

    /// Ends the wait, now or the next one, until `clear`.
    package func signal() {
        var byte: UInt8 = 1
        _ = write(output, &byte, 1)
    }

    /// Takes note of all signals so far.
    package func clear() {
        var bytes: UInt64 = 0
        while read(input, &bytes, 8) > 0 {}
    }

    /// Waits until the descriptor is ready for `event`; a negative descriptor never is. A signal goes first.
    /// - Parameter timeoutMilliseconds: nil waits for ever.
    package func wait(
        for descriptor: Int32 = -1, _ event: Int32 = 0, timeoutMilliseconds: Int32? = nil
    ) -> Readiness {
        while true {
            var waiting = (
                pollfd(fd: input, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(event), revents: 0)
            )
            let count = withUnsafeMutableBytes(of: &waiting) { bytes in
                bytes.withMemoryRebound(to: pollfd.self) { poll($0.baseAddress, 2, timeoutMilliseconds ?? -1) }
            }
            if count < 0 {
                // The timeout begins anew; nobody minds.
                guard errno == EINTR || errno == EAGAIN else { return .failed(errno) }
                continue
            }
            if waiting.0.revents != 0 { return .woken }
            if waiting.1.revents & Int16(POLLNVAL) != 0 { return .failed(EBADF) }
            // A hang-up or an error is found by the call that follows.
            return waiting.1.revents == 0 ? .timedOut : .ready
        }
    }

    /// Waits for a signal, or until one of these can be read.
    /// - Parameter timeoutMilliseconds: nil waits for ever.
    /// - Returns: the indexes of those that can be read; none when a signal alone or the time has ended the wait.
    package func wait(for descriptors: [Int32], timeoutMilliseconds: Int32?) -> [Int] {
        var waiting = ([input] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&waiting, nfds_t(waiting.count), timeoutMilliseconds ?? -1) > 0 else { return [] }
        return descriptors.indices.filter { waiting[$0 + 1].revents != 0 }
    }

    /// Whether the descriptor is ready for `event` now.
    package static func isReady(_ descriptor: Int32, _ event: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }
}
