public import MeshFoundation

/// A timer as an anchor instead of ticks: a start, and the time elapsed before it. Nothing is sent while it runs.
///
/// ```swift
/// let tap = Date()
/// var timer = SessionTimerAnchor.start(at: tap, duration: 90)
/// timer.pause(at: tap + 30)
/// timer.resume(at: tap + 40)
/// timer.elapsed(at: tap + 50)                           // 40 seconds
/// timer.remaining(at: tap + 50)                         // 50 seconds
/// ```
///
/// Every transition takes the moment of the tap, and does nothing if it doesn't apply: a second pause changes nothing.
/// Moments that come out of order never make a time negative.
public struct SessionTimerAnchor: Codable, Sendable, Hashable {
    /// The moment since which time is counted: the start, or the last resume.
    public var startedAt: Date
    /// Seconds that had elapsed before `startedAt`.
    public var accumulatedElapsedBeforeAnchor: TimeInterval
    /// The moment at which the pause began; nil while the timer runs.
    public var pauseStartedAt: Date?
    /// True if the timer is paused or finished.
    public var isPaused: Bool
    /// The moment at which the timer reaches its end; nil without an end. Each resume moves it by the length of the pause.
    public var expectedEndAt: Date?
    /// The moment at which the current step began, such as a lap; nil without steps. A resume moves it, so that a step
    /// excludes pauses.
    public var stepStartedAt: Date?
    /// The moment of `finish`; nil before it. A finished timer is paused for good.
    public var finishedAt: Date?

    /// Creates an anchor from every field as it is. To start a timer, use ``start(at:duration:)``.
    public init(
        startedAt: Date, accumulatedElapsedBeforeAnchor: TimeInterval, pauseStartedAt: Date?, isPaused: Bool,
        expectedEndAt: Date?, stepStartedAt: Date?, finishedAt: Date? = nil
    ) {
        self.startedAt = startedAt
        self.accumulatedElapsedBeforeAnchor = accumulatedElapsedBeforeAnchor
        self.pauseStartedAt = pauseStartedAt
        self.isPaused = isPaused
        self.expectedEndAt = expectedEndAt
        self.stepStartedAt = stepStartedAt
        self.finishedAt = finishedAt
    }

    /// Seconds elapsed without pauses. Never negative. While the timer runs, a later moment never gives fewer seconds.
    public func elapsed(at moment: Date) -> TimeInterval {
        guard !isPaused else { return accumulatedElapsedBeforeAnchor }
        return accumulatedElapsedBeforeAnchor + max(0, moment.timeIntervalSince(startedAt))
    }

    /// Seconds until the expected end, 0 once it has passed; nil without an expected end.
    public func remaining(at moment: Date) -> TimeInterval? {
        expectedEndAt.map { max(0, $0.timeIntervalSince(countedMoment(moment))) }
    }

    /// Seconds elapsed in the current step without pauses; nil without a step.
    public func stepElapsed(at moment: Date) -> TimeInterval? {
        stepStartedAt.map { max(0, countedMoment(moment).timeIntervalSince($0)) }
    }

    /// The moment up to which time is counted: the finish or the start of a pause, if there is one.
    private func countedMoment(_ moment: Date) -> Date {
        isPaused ? finishedAt ?? pauseStartedAt ?? moment : moment
    }
}
