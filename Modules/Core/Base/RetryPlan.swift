/// Plans attempts: when the next one is due, and how much longer to wait after it. A value; time is passed in.
///
/// Each planned attempt lengthens the wait, unless it is cancelled.
package struct RetryPlan: Hashable, Sendable {
    private var backoff: Backoff
    /// Before the planned attempt.
    private var earlier: Backoff
    /// When the next attempt is due; nil if none is planned.
    package private(set) var dueAt: Duration?

    package init(from shortest: Duration, to longest: Duration) {
        backoff = Backoff(from: shortest, to: longest)
        earlier = backoff
    }

    /// Plans the next attempt.
    /// - Returns: when it is due; nil if an attempt was planned already.
    @discardableResult
    package mutating func plan(at now: Duration) -> Duration? {
        guard dueAt == nil else { return nil }
        earlier = backoff
        dueAt = now + backoff.next()
        return dueAt
    }

    /// Begins the attempt that is due. Nothing is planned then.
    /// - Returns: false if no attempt is due yet.
    @discardableResult
    package mutating func takeDue(at now: Duration) -> Bool {
        guard let dueAt, dueAt <= now else { return false }
        self.dueAt = nil
        return true
    }

    /// The peer, link or network is back: the wait is the shortest again, also for the attempt that is planned.
    /// - Returns: when the planned attempt is due; nil if it is due no earlier than before.
    @discardableResult
    package mutating func bringForward(at now: Duration) -> Duration? {
        backoff.reset()
        earlier = backoff
        guard let dueAt, now + backoff.wait < dueAt else { return nil }
        self.dueAt = now + backoff.wait
        return self.dueAt
    }

    /// Makes an attempt due at that time, whatever was planned. It counts as the first.
    package mutating func restart(dueAt: Duration) {
        reset()
        _ = backoff.next()
        self.dueAt = dueAt
    }

    /// Plans nothing. The wait is as it was before the planned attempt.
    package mutating func cancel() {
        if dueAt != nil { backoff = earlier }
        dueAt = nil
    }

    /// An attempt has succeeded: nothing is planned, and the wait is the shortest again.
    package mutating func reset() {
        backoff.reset()
        earlier = backoff
        dueAt = nil
    }
}
