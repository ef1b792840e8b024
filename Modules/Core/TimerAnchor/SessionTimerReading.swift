public import MeshFoundation

/// A timer as it stands at one moment: everything a screen shows of it, from the anchor alone.
///
/// Nothing of it is stored or sent. A phase kept beside the anchor could contradict it; one that is read cannot.
public struct SessionTimerReading: Hashable, Sendable {
    /// Running, paused or finished.
    public let phase: SessionTimerPhase
    /// The elapsed seconds without pauses.
    public let elapsed: TimeInterval
    /// Seconds until the expected end; nil without one.
    public let remaining: TimeInterval?
    /// Seconds of the current step; nil without one.
    public let stepElapsed: TimeInterval?
    /// Still running after its expected end.
    public let isOverdue: Bool
    /// Seconds by which a running timer may differ from another device's, because their clocks do; nil when that is not
    /// known.
    public let errorSeconds: TimeInterval?
}

extension SessionTimerAnchor {
    /// Returns the values to show at a moment: phase, elapsed and remaining seconds, and their possible error.
    ///
    /// - Parameters:
    ///   - moment: by the clock by which the anchor was set.
    ///   - errorSeconds: by how much that clock is known on this device; 0 where it is its own.
    public func reading(at moment: Date, errorSeconds: TimeInterval? = 0) -> SessionTimerReading {
        let phase = phase
        return SessionTimerReading(
            phase: phase, elapsed: elapsed(at: moment), remaining: remaining(at: moment),
            stepElapsed: stepElapsed(at: moment),
            isOverdue: phase == .running && expectedEndAt.map { moment >= $0 } ?? false,
            // Time that does not run is the same everywhere.
            errorSeconds: phase == .running ? errorSeconds : 0)
    }
}
