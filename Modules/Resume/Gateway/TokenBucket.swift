import MeshBase

/// So many at once and so many a second; whoever is too many is told when there will be room, each a time of its own.
struct TokenBucket: Sendable {
    private let perSecond: Double
    private let atOnce: Double
    /// The longest wait that is told.
    private let horizon: Duration
    private var tokens: Double
    private var filledAt = Duration.zero
    private var promised = Duration.zero

    init(perSecond: Double, atOnce: Int, horizon: Duration) {
        self.perSecond = max(perSecond, 0.001)
        self.atOnce = Double(max(1, atOnce))
        self.horizon = horizon
        tokens = self.atOnce
    }

    /// - Returns: nil where there is room, else how long to wait.
    mutating func take(_ now: Duration) -> Duration? {
        tokens = min(atOnce, tokens + (max(.zero, now - filledAt)).seconds * perSecond)
        filledAt = max(filledAt, now)
        if tokens >= 1 {
            tokens -= 1
            return nil
        }
        promised = max(promised, now) + .seconds(1 / perSecond)
        return min(promised - now, horizon)
    }
}
