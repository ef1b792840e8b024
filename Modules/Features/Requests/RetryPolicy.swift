import MeshConnection

/// The number of attempts of a request, and the time for all of them.
public struct RetryPolicy: Sendable, Hashable {
    /// Maximum number of attempts, at least 1. Waiting for the peer is no attempt.
    public let maxAttempts: Int
    /// Maximum time from the call to the answer, including every attempt and wait. The peer doesn't handle a request
    /// that is older.
    public let timeout: Duration

    /// The time between two attempts: 200 milliseconds.
    public static let gap = Duration.milliseconds(200)

    /// Creates a policy from a number of attempts and a time. A negative timeout counts as zero.
    ///
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

    /// Returns true for `notReachable`, `deliveryFailed` and `replyFailed`, after which another attempt may succeed. A peer's
    /// answer is never retried, even if it is one of these errors.
    public func shouldRetry(_ error: any Error) -> Bool {
        switch ConnectionError(error) {
        case .notReachable, .deliveryFailed, .replyFailed: true
        default: false
        }
    }

    /// The time that a live attempt waits for a receipt or an answer from the peer.
    var patience: Duration { min(.seconds(2), timeout / 4) }
}

/// The behavior of a request while no peer can be reached.
public enum DeliveryMode: String, Codable, Hashable, Sendable, CaseIterable {
    /// Throws `notReachable` at once.
    case immediate
    /// The request waits until a peer can be reached or the timeout is over.
    case queued

    /// True if the request fails at once while no peer can be reached.
    public var requiresImmediateReachability: Bool { self == .immediate }
}
