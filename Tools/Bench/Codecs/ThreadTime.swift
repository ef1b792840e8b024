import Foundation

/// Time that the calling thread has spent computing: what others do on a busy machine does not count.
enum ThreadTime {
    /// Right for what neither suspends nor changes threads.
    @Sendable static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
