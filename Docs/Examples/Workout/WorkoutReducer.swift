import Foundation
public import MeshEngine
import MeshTimerAnchor

/// Turns events into the state of a workout, alike on every device: nothing but the arguments is read.
public struct WorkoutReducer: SessionSyncReducer {
    public init() {}

    /// - Throws: `WorkoutError.invalidSample`. On the device that submits it, nothing is then sent.
    public func reduce(state: inout WorkoutState, event: WorkoutEvent, context: SessionEventContext) throws {
        try state.apply(event)
    }
}

public enum WorkoutError: Error, Hashable, Sendable {
    /// Metres that are negative or not a number, or a heart rate outside 0…500.
    case invalidSample
}

extension WorkoutState {
    /// Applies an event that makes sense now; whether it does is `WorkoutPolicy`'s question.
    mutating func apply(_ event: WorkoutEvent) throws(WorkoutError) {
        switch event {
        case .start(let moment):
            timer = .start(at: moment)
            timer?.step(at: moment)
        case .sample(_, let position, let moved, let heartRate):
            try measure(position, moved: moved, heartRate: heartRate)
        case .pause(let moment): timer?.pause(at: moment)
        case .resume(let moment): timer?.resume(at: moment)
        case .lap(let moment): endLap(at: moment)
        case .finish(let moment): timer?.finish(at: moment)
        }
        // The state may have come from a peer, with any number in it: here and below, sums wrap rather than trap.
        eventCount &+= 1
    }

    private mutating func measure(
        _ position: WorkoutPosition, moved: Double, heartRate: Int?
    ) throws(WorkoutError) {
        guard moved.isFinite, moved >= 0, heartRate.map((0...500).contains) ?? true else { throw .invalidSample }
        self.position = position
        distance += moved
        sampleCount &+= 1
        if let heartRate { self.heartRate.add(heartRate) }
    }

    private mutating func endLap(at moment: Date) {
        laps.append(
            WorkoutLap(
                endedAt: moment, duration: timer?.stepElapsed(at: moment) ?? 0, distance: lapDistance,
                endDistance: distance))
        timer?.step(at: moment)
    }
}

extension HeartRateSummary? {
    fileprivate mutating func add(_ rate: Int) {
        let before = self ?? HeartRateSummary(latest: rate, highest: rate, sum: 0, count: 0)
        self = HeartRateSummary(
            latest: rate, highest: max(before.highest, rate), sum: before.sum &+ rate, count: before.count &+ 1)
    }
}
