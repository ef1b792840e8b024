import Foundation
public import MeshEngine
import MeshTimerAnchor

/// Turns events into the state of a workout. It reads only its arguments, so every device gets the same state.
public struct WorkoutReducer: SessionSyncReducer {
    public init() {}

    /// - Throws: `WorkoutError.invalidDistance`. The device that submits the event then sends nothing.
    public func reduce(state: inout WorkoutState, event: WorkoutEvent, context: SessionEventContext) throws {
        try state.apply(event)
    }
}

public enum WorkoutError: Error, Hashable, Sendable {
    /// The distance is negative or not finite.
    case invalidDistance
    /// The sample's distance is negative or not finite, or its heart rate is outside 0…500.
    case invalidSample
}

extension WorkoutState {
    /// Applies an event that `WorkoutPolicy` has accepted.
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
        // The state may come from a peer, with any number in it: the sum wraps instead of trapping.
        eventCount &+= 1
    }

    /// Raises the distance. Never lowers it: another device may have tapped a moment before and measured more.
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
