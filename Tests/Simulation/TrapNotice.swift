import Foundation

/// A signal handler that prints the running seed to stderr when the process traps. Otherwise the seed would be lost.
enum TrapNotice {
    /// The running seed. A signal handler reads it, so access may use neither locks nor allocation.
    nonisolated(unsafe) private static let seed: UnsafeMutablePointer<UInt64> = {
        for signal in [SIGILL, SIGTRAP, SIGSEGV] { Foundation.signal(signal, handler) }
        return .allocate(capacity: 1)
    }()

    static func willRun(_ seed: UInt64) { self.seed.pointee = seed }

    private static let handler: @convention(c) (Int32) -> Void = { signal in
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { text in
            var rest = TrapNotice.seed.pointee
            var start = 31
            text[start] = 10
            repeat {
                start -= 1
                text[start] = UInt8(48 + rest % 10)
                rest /= 10
            } while rest > 0
            for byte in "seed ".utf8.reversed() {
                start -= 1
                text[start] = byte
            }
            _ = write(STDERR_FILENO, text.baseAddress! + start, 32 - start)
        }
        Foundation.signal(signal, SIG_DFL)
        raise(signal)
    }
}
