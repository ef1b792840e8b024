/// The round trip to one peer, smoothed, and the time after which an answer is overdue.
///
/// Source: RFC 6298, with a least timeout of 50 ms instead of a second (links are local) and a most of 10 s.
package struct RoundTripEstimate: Hashable, Sendable {
    /// Nanoseconds; nil before the first measurement.
    private(set) var smoothedNanoseconds: UInt64?
    private var variation: UInt64 = 0

    static let timeoutMin: UInt64 = 50_000_000
    static let timeoutMax: UInt64 = 10_000_000_000
    private static let timeoutAtFirst: UInt64 = 500_000_000

    init() {}

    /// nil before the first measurement.
    package var smoothed: Duration? { smoothedNanoseconds.map { .nanoseconds(Int64(clamping: $0)) } }

    mutating func measure(_ sample: UInt64) {
        // A device that slept meanwhile would not resend for long.
        let sample = min(sample, Self.timeoutMax)
        guard let smoothed = smoothedNanoseconds else {
            smoothedNanoseconds = sample
            variation = sample / 2
            return
        }
        let deviation = smoothed > sample ? smoothed - sample : sample - smoothed
        variation = (3 * variation + deviation) / 4
        smoothedNanoseconds = (7 * smoothed + sample) / 8
    }

    /// Nanoseconds to wait for an answer, after so many that did not come.
    func timeout(afterFailures count: Int = 0) -> UInt64 {
        let timeout = smoothedNanoseconds.map { $0 + 4 * variation } ?? Self.timeoutAtFirst
        return min(max(timeout, Self.timeoutMin) << UInt64(min(count, 10)), Self.timeoutMax)
    }
}
