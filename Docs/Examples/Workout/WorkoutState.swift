public import Foundation
public import MeshTimerAnchor

/// A workout that phone and watch share.
///
/// The state holds facts, not ticks. Elapsed time and phase are derived when read. So no stored value can contradict them, and
/// nothing is sent while time passes. Sensor measurements are a separate series.
public struct WorkoutState: Codable, Hashable, Sendable {
    /// The workout's timer; nil before the start.
    public var timer: SessionTimerAnchor?
    /// Metres at the last lap or at the finish. `WorkoutSession.totals` has the current distance.
    public var distance = 0.0
    /// The laps that have ended, at most `WorkoutPolicy.lapsMax`.
    public var laps: [WorkoutLap] = []
    /// Number of events that made this state, without those the policy rejected.
    public var eventCount = 0

    public init() {}

    public var phase: WorkoutPhase {
        switch timer?.phase {
        case nil: .ready
        case .running: .running
        case .paused: .paused
        case .finished: .finished
        }
    }

    /// Returns the elapsed seconds without pauses.
    public func elapsed(at moment: Date) -> TimeInterval { timer?.elapsed(at: moment) ?? 0 }
}

public enum WorkoutPhase: String, Codable, Hashable, Sendable {
    case ready, running, paused, finished
}

public struct WorkoutLap: Codable, Hashable, Sendable {
    public var endedAt: Date
    /// Duration in seconds, without pauses.
    public var duration: TimeInterval
    /// Metres of this lap.
    public var distance: Double
    /// Metres of the workout at the end of this lap.
    public var endDistance: Double

    public init(endedAt: Date, duration: TimeInterval, distance: Double, endDistance: Double) {
        self.endedAt = endedAt
        self.duration = duration
        self.distance = distance
        self.endDistance = endDistance
    }
}
