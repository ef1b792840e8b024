#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The signal SIGPIPE, which a write to a pipe without a reader raises on the writing thread.
enum PipeSignal {
    /// Calls `body` with the signal blocked for the current thread, so that writes can't end the process. Restores the
    /// signal mask afterwards, because the thread belongs to the caller. Clears the signal if it was raised. Costs two
    /// system calls if it wasn't.
    ///
    /// Darwin marks descriptors instead (`F_SETNOSIGPIPE`); there this only calls `body`.
    static func blockingSIGPIPE<Result>(_ body: () -> Result, isRaised: (Result) -> Bool) -> Result {
        #if canImport(Darwin)
            return body()
        #else
            var signals = sigset_t()
            var before = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, &before)
            let result = body()
            // If the thread had blocked the signal before, a pending one stays.
            if isRaised(result), sigismember(&before, SIGPIPE) == 0 {
                var now = timespec()
                sigtimedwait(&signals, nil, &now)
            }
            pthread_sigmask(SIG_SETMASK, &before, nil)
            return result
        #endif
    }
}
