/// How many things may happen: so many at once, and as many again in every second.
struct TokenBucket: Sendable {
    private let perSecond: Double
    private var tokens: Double
    private var last = Duration.zero

    init(perSecond: Int) {
        self.perSecond = Double(max(perSecond, 0))
        tokens = self.perSecond
    }

    /// False when it is too much.
    mutating func take(_ now: Duration) -> Bool {
        if now > last {
            tokens = min(perSecond, tokens + (now - last) / .seconds(1) * perSecond)
            last = now
        }
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
