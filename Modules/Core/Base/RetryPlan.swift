/// A plan for retries with exponential backoff: the time of the next attempt, and the wait after it.
///
/// Has no clock: the caller passes the time. Each planned attempt lengthens the next wait, unless it is cancelled.
package struct RetryPlan: Hashable, Sendable {
    private var backoff: Backoff
    /// The backoff before the current plan, which `cancel` restores.
    private var earlier: Backoff
    /// Time of the next attempt; nil if none is planned.
    package private(set) var dueAt: Duration?

    package init(from shortest: Duration, to longest: Duration) {
        backoff = Backoff(from: shortest, to: longest)
        earlier = backoff
    }

    /// Plans the next attempt.
    /// - Returns: The time of the attempt; nil if one was already planned.
    @discardableResult
    package mutating func plan(at now: Duration) -> Duration? {
        guard dueAt == nil else { return nil }
        earlier = backoff
        dueAt = now + backoff.next()
        return dueAt
    }

    /// Starts the attempt that is due, and clears the plan.
    /// - Returns: false if no attempt is due yet.
    @discardableResult
    package mutating func takeDue(at now: Duration) -> Bool {
        guard let dueAt, dueAt <= now else { return false }
        self.dueAt = nil
        return true
    }

    /// Resets the wait to the shortest, for a planned attempt too. Call it when the peer, link or network is back.
    /// - Returns: The new time of the planned attempt; nil if there is none or it doesn't become earlier.
    @discardableResult
    package mutating func bringForward(at now: Duration) -> Duration? {
        backoff.reset()
        earlier = backoff
        guard let dueAt, now + backoff.wait < dueAt else { return nil }
        self.dueAt = now + backoff.wait
        return self.dueAt
    }

    /// Replaces the plan with a first attempt at that time.
    package mutating func restart(dueAt: Duration) {
        reset()
        _ = backoff.next()
        self.dueAt = dueAt
    }

    /// Cancels the planned attempt. The next plan waits as long as the cancelled one.
    package mutating func cancel() {
        if dueAt != nil { backoff = earlier }
        dueAt = nil
    }

    /// Clears the plan and resets the wait to the shortest. Call it when an attempt has succeeded.
    package mutating func reset() {
        backoff.reset()
        earlier = backoff
        dueAt = nil
    }
}
