public import Foundation
public import MeshGPX

/// The steps that replay a recorded workout on two devices, in order, and the device that makes each step.
///
/// The plan depends only on the recording, so both devices derive the same plan without communicating:
/// - The phone starts and records a sample for each timed point. It skips points within a millisecond of the one before,
///   because the moment identifies a sample.
/// - A gap over 30 s between two points is a pause at the first and a resume at the second.
/// - Each kilometre ends a lap. The last point finishes the workout.
/// - The watch joins after `watchJoinsAfter` steps. From then on the two alternate with the taps, the watch first.
public struct ReplayPlan: Hashable, Sendable {
    public enum Actor: String, CaseIterable, Codable, Hashable, Sendable { case phone, watch }

    public enum Step: Hashable, Sendable {
        case tap(WorkoutEvent, by: Actor)
        /// A sample recorded by the phone, which has the sensors.
        case measure(WorkoutSample, at: Date)

        public var actor: Actor {
            switch self {
            case .tap(_, let actor): actor
            case .measure: .phone
            }
        }

        public var moment: Date {
            switch self {
            case .tap(let event, _): event.moment
            case .measure(_, let moment): moment
            }
        }

        public var isTap: Bool {
            if case .tap = self { true } else { false }
        }
    }

    /// Seconds between two points above which the runner counts as paused.
    public static let gap: TimeInterval = 30
    /// Length of a lap in metres.
    public static let lapDistance = 1_000.0

    public let steps: [Step]
    /// The number of steps before the watch joins: a tenth of the plan, at least the start and at most 100 steps.
    public let watchJoinsAfter: Int
    /// Number of the recording's points that have no time. They are left out.
    public let untimedPointCount: Int
    /// The final state of every device.
    public let finalState: WorkoutState
    public let sampleCount: Int

    /// Derives the plan. Complexity: O(*n* log *n*) in the number of points.
    /// - Throws: `ReplayPlanError.noTimedPoints`.
    public init(recording: GPXRecording) throws(ReplayPlanError) {
        let points = recording.timedPoints.compactMap { point in point.time.map { (point, $0) } }
        guard let first = points.first, let last = points.last else { throw .noTimedPoints }

        var script = Script()
        script.tap(.start(at: first.1))
        var previous: (point: GPXPoint, time: Date)?
        for (point, time) in points where previous.map({ time.timeIntervalSince($0.time) >= 0.001 }) ?? true {
            script.pass(point, at: time, after: previous)
            previous = (point, time)
        }
        script.tap(.finish(at: last.1, distance: script.distance))

        watchJoinsAfter = max(1, min(script.steps.count / 10, 100))
        steps = takeTurns(script.steps, watchJoinsAfter: watchJoinsAfter)
        untimedPointCount = recording.untimedPointCount
        finalState = script.state
        sampleCount = script.sampleCount
    }
}

extension ReplayPlan {
    /// Returns the total time that a replay waits.
    public func duration(at pace: ReplayPace) -> Duration { duration(of: steps[...], at: pace) }

    /// Returns a range of steps in which the two devices may be disconnected. It begins some samples before a lap on one device
    /// and ends with the next tap, which is on the other device. If there are several such pairs of taps, it takes the pair whose
    /// gap is closest to two seconds. The range is empty if there is no pair, or if the pace is as fast as possible.
    ///
    /// Neither tap depends on the other. Each device shows its own at once, and both together make the plan's state. So the range
    /// never contains a finish, nor a pause before the other device's resume.
    public func stepsApart(at pace: ReplayPace) -> Range<Int> {
        let taps = steps.indices.filter { steps[$0].isTap }
        let pairs = zip(taps, taps.dropFirst()).filter { first, second in
            guard first > watchJoinsAfter, steps[first].actor != steps[second].actor else { return false }
            switch (steps[first], steps[second]) {
            case (_, .tap(.finish, _)): return false
            case (.tap(.lap, _), _): return true
            default: return false
            }
        }
        func distance(from pair: (Int, Int)) -> Duration {
            let gap = duration(of: steps[pair.0...pair.1], at: pace)
            return max(gap, .seconds(2)) - min(gap, .seconds(2))
        }
        guard pace != .asFastAsPossible,
            let (first, second) = pairs.min(by: { distance(from: $0) < distance(from: $1) })
        else { return 0..<0 }
        let earliest = max(watchJoinsAfter, (taps.last { $0 < first } ?? 0) + 1)
        let lead = (earliest..<first).last { duration(of: steps[$0...first], at: pace) >= .milliseconds(1_500) }
        return (lead ?? earliest)..<(second + 1)
    }

    private func duration(of steps: ArraySlice<Step>, at pace: ReplayPace) -> Duration {
        zip(steps, steps.dropFirst()).reduce(.zero) { $0 + pace.wait(from: $1.0.moment, to: $1.1.moment) }
    }
}

public enum ReplayPlanError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The recording has no times.
    case noTimedPoints

    public var description: String {
        switch self {
        case .noTimedPoints: "has no track point with a time: there is nothing to replay"
        }
    }
}

/// The steps so far, all by the phone, and the totals that decide where laps end.
private struct Script {
    var steps: [ReplayPlan.Step] = []
    var state = WorkoutState()
    var distance = 0.0
    var sampleCount = 0
    private var lapsMarked = 0

    /// Adds a tap. Skips events that the policy or the reducer would reject, so that each tap changes the state.
    mutating func tap(_ event: WorkoutEvent) {
        guard state.accepts(event), (try? state.apply(event)) != nil else { return }
        steps.append(.tap(event, by: .phone))
    }

    mutating func pass(_ point: GPXPoint, at time: Date, after previous: (point: GPXPoint, time: Date)?) {
        var moved = 0.0
        if let previous {
            if time.timeIntervalSince(previous.time) > ReplayPlan.gap {
                tap(.pause(at: previous.time))
                tap(.resume(at: time))
            } else {
                moved = previous.point.distance(to: point)
            }
        }
        measure(
            WorkoutSample(
                position: WorkoutPosition(
                    latitude: point.latitude, longitude: point.longitude, elevation: point.elevation),
                moved: moved, heartRate: point.heartRate),
            at: time)

        let lapsDone = Int(distance / ReplayPlan.lapDistance)
        if lapsDone > lapsMarked {
            lapsMarked = lapsDone
            tap(.lap(at: time, distance: distance))
        }
    }

    private mutating func measure(_ sample: WorkoutSample, at time: Date) {
        guard sample.isPlausible else { return }
        steps.append(.measure(sample, at: time))
        distance += sample.moved
        sampleCount += 1
    }
}

private func takeTurns(_ steps: [ReplayPlan.Step], watchJoinsAfter joining: Int) -> [ReplayPlan.Step] {
    var isWatchsTurn = true
    return steps.enumerated().map { index, step in
        guard case .tap(let event, _) = step, index >= joining else { return step }
        defer { isWatchsTurn.toggle() }
        return .tap(event, by: isWatchsTurn ? .watch : .phone)
    }
}
