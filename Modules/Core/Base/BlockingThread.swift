#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Threads for blocking calls, which would starve Swift's thread pool.
package enum BlockingThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread that blocks SIGPIPE. A write to a pipe without a reader raises that signal on the
    /// writing thread. If blocked, it stays pending until the thread ends, and the write returns EPIPE. The process's
    /// handling of the signal is unaffected.
    package static func start(_ run: @escaping @Sendable () -> Void) throws(SystemCallError) {
        var blocked = sigset_t()
        var before = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGPIPE)
        // A new thread inherits the mask of the thread that creates it.
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        let context = Unmanaged.passRetained(Body(run)).toOpaque()
        let status = createDetached(context)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        guard status == 0 else {
            Unmanaged<Body>.fromOpaque(context).release()
            throw SystemCallError("pthread_create", status)
        }
    }

    /// Blocks the calling thread. Use it only on a thread that `start` created.
    package static func sleep(_ duration: Duration) {
        let (seconds, attoseconds) = max(duration, .zero).components
        var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var rest = left
        while nanosleep(&left, &rest) != 0, errno == EINTR { left = rest }
    }

    private static func createDetached(_ context: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(&thread, nil, { enterThread($0) }, context)
            if let thread { pthread_detach(thread) }
        #else
            var thread = pthread_t()
            let status = pthread_create(&thread, nil, { enterThread($0) }, context)
            if status == 0 { pthread_detach(thread) }
        #endif
        return status
    }

    fileprivate static func enter(_ context: UnsafeMutableRawPointer?) {
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
    }
}

private func enterThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    BlockingThread.enter(context)
    return nil
}
