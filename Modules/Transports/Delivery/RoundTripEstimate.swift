/// The smoothed round-trip time to one peer, and the timeout for an answer.
///
/// Source: RFC 6298. The timeout is 50 ms to 10 s; the RFC's minimum is a second, but links are local. Before the first
/// measurement the timeout is 500 ms.
package struct RoundTripEstimate: Hashable, Sendable {
    /// The smoothed round trip in nanoseconds; nil before the first measurement.
    private(set) var smoothedNanoseconds: UInt64?
    private var variation: UInt64 = 0

    static let timeoutMin: UInt64 = 50_000_000
    static let timeoutMax: UInt64 = 10_000_000_000
    private static let initialTimeout: UInt64 = 500_000_000

    init() {}

    /// The smoothed round-trip time; nil before the first measurement.
    package var smoothed: Duration? { smoothedNanoseconds.map { .nanoseconds(Int64(clamping: $0)) } }

    mutating func measure(_ sample: UInt64) {
        // Otherwise a device that slept in between would wait long before it resends.
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

    /// Nanoseconds to wait for an answer after a number of failures in a row.
    func timeout(afterFailures count: Int = 0) -> UInt64 {
        let timeout = smoothedNanoseconds.map { $0 + 4 * variation } ?? Self.initialTimeout
        return min(max(timeout, Self.timeoutMin) << UInt64(min(count, 10)), Self.timeoutMax)
    }
}
