public import Foundation
public import MeshEngine

/// Which events still make sense when their turn comes. Two people, or one person with two devices, tap what they see:
/// a second pause on the watch while the phone's is on its way, a lap on both wrists. The policy decides alike on every
/// device; an event that it rejects is recorded and changes nothing.
public struct WorkoutPolicy: SessionConflictPolicy {
    /// Laps beyond it are rejected, so that the state stays small.
    public static let lapsMax = 1_000
    /// Seconds within which two laps are one tap made on two devices.
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
