public import Foundation

/// How fast a recording is replayed.
public enum ReplayPace: Hashable, Sendable {
    case asFastAsPossible
    /// As many times as fast as it was recorded.
    case times(Double)

    /// Seconds for which a pause is replayed at single speed, however long the recording's was.
    public static let pauseMax: TimeInterval = 5

    /// How long to wait between two moments of the recording: never longer than `ReplayPlan.gap`, 30 s, at single speed.
    public func wait(from earlier: Date, to later: Date) -> Duration {
        guard case .times(let factor) = self, factor > 0 else { return .zero }
        let recorded = max(0, later.timeIntervalSince(earlier))
        let seconds = recorded > ReplayPlan.gap ? Self.pauseMax : recorded
        return .seconds(seconds / factor)
    }
}
