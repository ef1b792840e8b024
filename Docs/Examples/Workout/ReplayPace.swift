public import Foundation

/// The speed of a replay.
public enum ReplayPace: Hashable, Sendable {
    case asFastAsPossible
    /// A multiple of the recording's speed.
    case times(Double)

    /// Seconds that a pause takes at single speed, regardless of its length in the recording.
    public static let pauseMax: TimeInterval = 5

    /// Returns the time to wait between two moments of the recording. At single speed it is at most `ReplayPlan.gap`, 30 s.
    public func wait(from earlier: Date, to later: Date) -> Duration {
        guard case .times(let factor) = self, factor > 0 else { return .zero }
        let recorded = max(0, later.timeIntervalSince(earlier))
        let seconds = recorded > ReplayPlan.gap ? Self.pauseMax : recorded
        return .seconds(seconds / factor)
    }
}
