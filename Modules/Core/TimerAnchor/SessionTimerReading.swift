public import MeshFoundation

/// A timer's values at one moment, for display, computed from the anchor alone.
///
/// It is neither stored nor sent, because a stored phase could contradict the anchor.
public struct SessionTimerReading: Hashable, Sendable {
    /// The phase: running, paused or finished.
    public let phase: SessionTimerPhase
    /// The elapsed seconds without pauses.
    public let elapsed: TimeInterval
    /// Seconds until the expected end; nil without one.
    public let remaining: TimeInterval?
    /// Seconds of the current step; nil without one.
    public let stepElapsed: TimeInterval?
    /// True if the timer still runs after its expected end.
    public let isOverdue: Bool
    /// Maximum error of a running timer in seconds, because this device only estimates the clock that set the anchor; 0
    /// if the timer isn't running, nil if the error is unknown.
    public let errorSeconds: TimeInterval?
}

extension SessionTimerAnchor {
    /// Returns the values to show at a moment: phase, elapsed and remaining seconds, and their possible error.
    ///
    /// - Parameters:
    ///   - moment: by the clock that set the anchor.
    ///   - errorSeconds: maximum error of this device's estimate of that clock; 0 if it is its own clock.
    public func reading(at moment: Date, errorSeconds: TimeInterval? = 0) -> SessionTimerReading {
        let phase = phase
        return SessionTimerReading(
            phase: phase, elapsed: elapsed(at: moment), remaining: remaining(at: moment),
            stepElapsed: stepElapsed(at: moment),
            isOverdue: phase == .running && expectedEndAt.map { moment >= $0 } ?? false,
            // A timer that isn't running is equal on every device.
            errorSeconds: phase == .running ? errorSeconds : 0)
    }
}
