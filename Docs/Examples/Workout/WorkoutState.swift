public import Foundation
public import MeshTimerAnchor

/// A workout as phone and watch both show it.
///
/// It holds facts, not ticks: what a screen counts up (elapsed time, phase) is derived from them when it is read, so that
/// nothing stored can contradict it and nothing is sent while time passes. What sensors measure is a series beside it.
public struct WorkoutState: Codable, Hashable, Sendable {
    /// nil before the start.
    public var timer: SessionTimerAnchor?
    /// Metres at the last lap or at the finish; what has come since is in `WorkoutSession.totals`.
    public var distance = 0.0
    /// The laps that have ended, at most `WorkoutPolicy.lapsMax`.
    public var laps: [WorkoutLap] = []
    /// Events that made this state; those that the policy rejected are not among them.
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

    /// Seconds without pauses.
    public func elapsed(at moment: Date) -> TimeInterval { timer?.elapsed(at: moment) ?? 0 }
}

public enum WorkoutPhase: String, Codable, Hashable, Sendable {
    case ready, running, paused, finished
}

public struct WorkoutLap: Codable, Hashable, Sendable {
    public var endedAt: Date
    /// Seconds without pauses.
    public var duration: TimeInterval
    /// Metres of this lap.
    public var distance: Double
    /// Metres of the workout at its end.
    public var endDistance: Double

    public init(endedAt: Date, duration: TimeInterval, distance: Double, endDistance: Double) {
        self.endedAt = endedAt
        self.duration = duration
        self.distance = distance
        self.endDistance = endDistance
    }
}
