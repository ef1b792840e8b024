public import Foundation
public import MeshTimerAnchor

/// A workout as phone and watch both show it.
///
/// It holds facts, not ticks: what a screen counts up (elapsed time, pace, phase) is derived from them when it is read,
/// so that nothing stored can contradict it and nothing is sent while time passes.
public struct WorkoutState: Codable, Hashable, Sendable {
    /// nil before the start.
    public var timer: SessionTimerAnchor?
    /// Metres.
    public var distance = 0.0
    public var position: WorkoutPosition?
    /// nil until a sample had a heart rate.
    public var heartRate: HeartRateSummary?
    /// The laps that have ended, at most `WorkoutPolicy.lapsMax`.
    public var laps: [WorkoutLap] = []
    public var sampleCount = 0
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

    /// Seconds for a kilometre so far; nil before the first ten metres, which are mostly noise.
    public func pace(at moment: Date) -> TimeInterval? {
        distance < 10 ? nil : elapsed(at: moment) / distance * 1_000
    }

    /// Metres since the last lap ended.
    public var lapDistance: Double { distance - (laps.last?.endDistance ?? 0) }
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

/// Heart rates as sums, from which a screen derives what it shows.
public struct HeartRateSummary: Codable, Hashable, Sendable {
    /// Beats a minute.
    public var latest: Int
    public var highest: Int
    public var sum: Int
    public var count: Int

    public init(latest: Int, highest: Int, sum: Int, count: Int) {
        self.latest = latest
        self.highest = highest
        self.sum = sum
        self.count = count
    }

    public var average: Int { count > 0 ? sum / count : 0 }
}
