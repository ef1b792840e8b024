import Foundation

/// The CPU time of the calling thread, which doesn't count other load on the machine.
package enum ThreadTime {
    /// Returns the time so far. Valid only for code that neither suspends nor changes threads.
    @Sendable package static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
