import MeshConnection

/// How often a request is tried, and how long all of it may take.
public struct RetryPolicy: Sendable, Hashable {
    /// At least 1. Waiting for the peer is no attempt.
    public let maxAttempts: Int
    /// From the call to the answer, with every attempt and every wait. The peer does not handle a request that is older.
    public let timeout: Duration

    /// Between two attempts.
    public static let gap = Duration.milliseconds(200)

    /// - Parameters:
    ///   - maxAttempts: less than 1 counts as 1.
    public init(maxAttempts: Int, timeout: Duration = .seconds(10)) {
        self.maxAttempts = max(1, maxAttempts)
        self.timeout = max(.zero, timeout)
    }

    /// Three attempts, ten seconds.
    public static let `default` = RetryPolicy(maxAttempts: 3)
    /// One attempt, ten seconds.
    public static let none = RetryPolicy(maxAttempts: 1)
    /// Five attempts, thirty seconds.
    public static let patient = RetryPolicy(maxAttempts: 5, timeout: .seconds(30))

    /// Whether another attempt may succeed: `notReachable`, `deliveryFailed` and `replyFailed`, met on the way. What the
    /// peer has answered is final, whatever it says.
    public func shouldRetry(_ error: any Error) -> Bool {
        switch ConnectionError(error) {
        case .notReachable, .deliveryFailed, .replyFailed: true
        default: false
        }
    }

    /// How long an attempt may stay without any sign of the peer before the next one.
    var patience: Duration { min(.seconds(2), timeout / 4) }
}

/// What a request does while nobody can be reached.
public enum DeliveryMode: String, Codable, Hashable, Sendable, CaseIterable {
    /// Throws `notReachable` at once.
    case immediate
    /// Waits, until somebody can be reached or the time is over.
    case queued

    /// Whether it fails at once while nobody can be reached.
    public var requiresImmediateReachability: Bool { self == .immediate }
}
