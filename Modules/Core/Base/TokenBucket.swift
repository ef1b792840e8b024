/// A token bucket for rate limits. It holds up to `atOnce` tokens and gains `perSecond` tokens each second.
///
/// Has no clock: the caller passes times of a monotonic clock.
package struct TokenBucket: Sendable {
    private let perSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var filledAt = Duration.zero

    /// Creates a full bucket. With a capacity of 0 or less it never gives a token.
    package init(perSecond: Double, atOnce: Int) {
        self.perSecond = max(0, perSecond)
        capacity = Double(max(0, Int32(clamping: atOnce)))
        tokens = capacity
    }

    /// Returns the number of tokens that can be taken now.
    package mutating func available(_ now: Duration) -> Int {
        if now > filledAt {
            tokens = min(capacity, tokens + (now - filledAt).seconds * perSecond)
            filledAt = now
        }
        return Int(tokens)
    }

    /// Takes `count` tokens.
    /// - Returns: false, without taking any, if there are fewer.
    @discardableResult
    package mutating func take(_ now: Duration, count: Int = 1) -> Bool {
        guard available(now) >= count else { return false }
        tokens -= Double(count)
        return true
    }

    /// Fills the bucket.
    package mutating func refill() { tokens = capacity }
}
