/// A rate limit: so many tokens at once, and so many more in every second.
///
/// Has no clock: times are those of any clock that does not jump.
package struct TokenBucket: Sendable {
    private let perSecond: Double
    private let capacity: Double
    private var tokens: Double
    private var filledAt = Duration.zero

    /// A full bucket. One that holds no token, or a negative number, never gives any.
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

    /// Takes `count` tokens, or none.
    /// - Returns: false when there are fewer.
    @discardableResult
    package mutating func take(_ now: Duration, count: Int = 1) -> Bool {
        guard available(now) >= count else { return false }
        tokens -= Double(count)
        return true
    }

    /// Fills the bucket.
    package mutating func refill() { tokens = capacity }
}
