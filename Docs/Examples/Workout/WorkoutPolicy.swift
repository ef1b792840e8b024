public import Foundation
public import MeshEngine

/// Rejects events that no longer make sense when their turn comes. Two devices may tap at nearly the same time: a second pause
/// on the watch while the phone's is in flight, or a lap on both wrists. The policy decides the same on every device. A
/// rejected event is recorded and changes nothing.
public struct WorkoutPolicy: SessionConflictPolicy {
    /// Maximum number of laps, to keep the state small. Further laps are rejected.
    public static let lapsMax = 1_000
    /// Seconds within which two laps count as one, tapped on two devices.
    public static let doubleTapInterval: TimeInterval = 2

    public init() {}

    public func shouldApply(event: WorkoutEvent, context: SessionConflictContext<WorkoutState>) -> Bool {
        context.state.accepts(event)
    }
}

extension WorkoutState {
    func accepts(_ event: WorkoutEvent) -> Bool {
        switch event {
        case .start: phase == .ready
        case .pause: phase == .running
        case .resume: phase == .paused
        case .lap(let moment, _): phase == .running && laps.count < WorkoutPolicy.lapsMax && !isDoubleTap(moment)
        // A finished workout stays finished, whatever arrives late.
        case .finish: phase == .running || phase == .paused
        }
    }

    private func isDoubleTap(_ moment: Date) -> Bool {
        guard let last = laps.last else { return false }
        return moment.timeIntervalSince(last.endedAt) < WorkoutPolicy.doubleTapInterval
    }
}
