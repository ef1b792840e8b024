#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// SIGPIPE, which a write to a pipe raises on the writing thread when nobody reads any more.
enum PipeSignal {
    /// Calls `body`, whose writes must not end the process, on a thread that is somebody else's: the signal is blocked for
    /// this thread meanwhile, and taken back when it was raised. Two system calls.
    ///
    /// Darwin marks descriptors instead (`F_SETNOSIGPIPE`); nothing is done there.
    static func withheld<Result>(_ body: () -> Result, isRaised: (Result) -> Bool) -> Result {
        #if canImport(Darwin)
            return body()
        #else
            var signals = sigset_t()
            var before = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, &before)
            let result = body()
            // Who had it blocked keeps what is pending.
            if isRaised(result), sigismember(&before, SIGPIPE) == 0 {
                var now = timespec()
                sigtimedwait(&signals, nil, &now)
            }
            pthread_sigmask(SIG_SETMASK, &before, nil)
            return result
        #endif
    }
}
