import Foundation
public import MeshEngine
import MeshTimerAnchor

/// Turns events into the state of a workout, alike on every device: nothing but the arguments is read.
public struct WorkoutReducer: SessionSyncReducer {
    public init() {}

    /// - Throws: `WorkoutError.invalidDistance`. On the device that submits it, nothing is then sent.
    public func reduce(state: inout WorkoutState, event: WorkoutEvent, context: SessionEventContext) throws {
        try state.apply(event)
    }
}

public enum WorkoutError: Error, Hashable, Sendable {
    /// Metres that are negative or not a number.
    case invalidDistance
    /// The same, or a heart rate outside 0…500.
    case invalidSample
}

extension WorkoutState {
    /// Applies an event that makes sense now; whether it does is `WorkoutPolicy`'s question.
    mutating func apply(_ event: WorkoutEvent) throws(WorkoutError) {
        switch event {
        case .start(let moment):
            timer = .start(at: moment)
            timer?.step(at: moment)
        case .pause(let moment): timer?.pause(at: moment)
        case .resume(let moment): timer?.resume(at: moment)
        case .lap(let moment, let metres):
            try reach(metres)
            endLap(at: moment)
        case .finish(let moment, let metres):
            try reach(metres)
            timer?.finish(at: moment)
        }
        // The state may have come from a peer, with any number in it: sums wrap rather than trap.
        eventCount &+= 1
    }

    /// Another device may have tapped a moment before, and have seen more of the way.
    private mutating func reach(_ metres: Double) throws(WorkoutError) {
        guard metres.isFinite, metres >= 0 else { throw .invalidDistance }
        distance = max(distance, metres)
    }

    private mutating func endLap(at moment: Date) {
        laps.append(
            WorkoutLap(
                endedAt: moment, duration: timer?.stepElapsed(at: moment) ?? 0,
                distance: distance - (laps.last?.endDistance ?? 0), endDistance: distance))
        timer?.step(at: moment)
    }
}
