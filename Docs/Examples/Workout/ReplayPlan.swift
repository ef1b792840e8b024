public import Foundation
public import MeshGPX

/// Who does what, in which order, when a recorded workout is replayed on two devices.
///
/// It follows from the recording alone, so that both devices derive the same plan and need not tell each other:
/// - the phone starts and sends a sample for each timed point;
/// - a gap over 30 s between two points is a pause at the first and a resume at the second;
/// - each kilometre ends a lap, the last point finishes;
/// - the watch joins after `watchJoinsAfter` steps. From then on the two take turns with the taps, the watch first.
public struct ReplayPlan: Hashable, Sendable {
    public enum Actor: String, CaseIterable, Codable, Hashable, Sendable { case phone, watch }

    public struct Step: Hashable, Sendable {
        public let actor: Actor
        public let event: WorkoutEvent
    }

    /// Seconds between two points from which on the runner stood still.
    public static let gap: TimeInterval = 30
    /// Metres of a lap.
    public static let lapDistance = 1_000.0

    public let steps: [Step]
    /// A tenth of the plan, from the start to at most 100 steps: that much has happened when the watch comes.
    public let watchJoinsAfter: Int
    /// Points of the recording that say where but not when; they are left out.
    public let untimedPointCount: Int
    /// The state that every device ends with.
    public let finalState: WorkoutState

    /// - Throws: `ReplayPlanError.noTimedPoints`.
    /// Complexity: O(*n* log *n*) in the points.
    public init(recording: GPXRecording) throws(ReplayPlanError) {
        let points = recording.timedPoints.compactMap { point in point.time.map { (point, $0) } }
        guard let first = points.first, let last = points.last else { throw .noTimedPoints }

        var script = Script()
        script.add(.start(at: first.1))
        var previous: (point: GPXPoint, time: Date)?
        for (point, time) in points {
            script.add(point, at: time, after: previous)
            previous = (point, time)
        }
        script.add(.finish(at: last.1))

        let joining = max(1, min(script.events.count / 10, 100))
        steps = assignActors(script.events, watchJoinsAfter: joining)
        watchJoinsAfter = joining
        untimedPointCount = recording.untimedPointCount
        finalState = script.state
    }
}

public enum ReplayPlanError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A recording without times says where but not when.
    case noTimedPoints

    public var description: String {
        switch self {
        case .noTimedPoints: "has no track point with a time: there is nothing to replay"
        }
    }
}

/// The events so far and the state they make, from which laps follow.
private struct Script {
    var events: [WorkoutEvent] = []
    var state = WorkoutState()
    private var lapsMarked = 0

    /// Leaves out what the policy would reject or the reducer refuse, so that each step changes the state.
    mutating func add(_ event: WorkoutEvent) {
        guard state.accepts(event), (try? state.apply(event)) != nil else { return }
        events.append(event)
    }

    mutating func add(_ point: GPXPoint, at time: Date, after previous: (point: GPXPoint, time: Date)?) {
        var moved = 0.0
        if let previous {
            if time.timeIntervalSince(previous.time) > ReplayPlan.gap {
                add(.pause(at: previous.time))
                add(.resume(at: time))
            } else {
                moved = previous.point.distance(to: point)
            }
        }
        let position = WorkoutPosition(
            latitude: point.latitude, longitude: point.longitude, elevation: point.elevation)
        add(.sample(at: time, position: position, moved: moved, heartRate: point.heartRate))

        let lapsDone = Int(state.distance / ReplayPlan.lapDistance)
        if lapsDone > lapsMarked {
            lapsMarked = lapsDone
            add(.lap(at: time))
        }
    }
}

private func assignActors(_ events: [WorkoutEvent], watchJoinsAfter joining: Int) -> [ReplayPlan.Step] {
    var isWatchsTurn = true
    return events.enumerated().map { index, event in
        guard event.isTap, index >= joining else { return ReplayPlan.Step(actor: .phone, event: event) }
        defer { isWatchsTurn.toggle() }
        return ReplayPlan.Step(actor: isWatchsTurn ? .watch : .phone, event: event)
    }
}
