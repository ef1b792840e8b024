import Foundation
import MeshGPX
import Testing
import WorkoutExample

@Suite("Replay plan")
struct ReplayPlanTests {
    @Test("a start, a sample for each timed point and a finish")
    func simplePlan() throws {
        let plan = try plan([point(0, latitude: 0), GPXPoint(latitude: 0, longitude: 0), point(30, latitude: 0)])
        #expect(plan.steps.map(\.name) == ["start", "sample", "sample", "finish"])
        #expect(plan.steps.map(\.moment) == [at(0), at(0), at(30), at(30)])
        #expect(plan.untimedPointCount == 1)
        #expect(plan.finalState.phase == .finished)
    }

    @Test("a gap over 30 s is a pause and a resume, and the way across is not counted")
    func gaps() throws {
        let plan = try plan([point(0, latitude: 0), point(30, latitude: 0.001), point(60.5, latitude: 0.002)])
        #expect(plan.steps.map(\.name) == ["start", "sample", "sample", "pause", "resume", "sample", "finish"])
        #expect(plan.steps.map(\.moment) == [0, 0, 30, 30, 60.5, 60.5, 60.5].map(at))
        #expect(abs(plan.finalState.distance - 111.19) < 0.01)
        #expect(plan.finalState.elapsed(at: at(99)) == 30)
    }

    @Test("each kilometre ends a lap; several at once end one")
    func laps() throws {
        let metre = 1 / 111_195.08
        let plan = try plan([
            point(0, latitude: 0), point(10, latitude: 999 * metre), point(20, latitude: 1_001 * metre),
            point(30, latitude: 1_999 * metre), point(40, latitude: 4_500 * metre), point(50, latitude: 5_100 * metre),
        ])
        let laps = plan.steps.filter { $0.name == "lap" }
        #expect(laps.map(\.moment) == [20, 40, 50].map(at))
        #expect(plan.finalState.laps.map(\.endedAt) == [20, 40, 50].map(at))
    }

    @Test("the watch joins after a tenth of the plan, and then the devices take turns with the taps")
    func actors() throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let early = plan.steps[..<plan.watchJoinsAfter]
        let late = plan.steps[plan.watchJoinsAfter...]
        #expect(early.allSatisfy { $0.actor == .phone })
        #expect(plan.watchJoinsAfter == plan.steps.count / 10)
        #expect(late.filter { !$0.isTap }.allSatisfy { $0.actor == .phone })
        let taps = late.filter(\.isTap).map(\.actor)
        #expect(taps.count >= 4)
        #expect(taps == taps.indices.map { $0.isMultiple(of: 2) ? .watch : .phone })
        let tappedByWatch = Set(late.filter { $0.actor == .watch }.map(\.name))
        #expect(tappedByWatch.isSuperset(of: ["pause", "lap"]))
    }

    @Test("the watch joins after a hundred steps of a long plan")
    func longPlan() throws {
        let plan = try plan((0..<5_000).map { point(Double($0), latitude: 0) })
        #expect(plan.watchJoinsAfter == 100)
        #expect(plan.steps.last?.actor == .watch)
    }

    @Test("the phone starts and the watch finishes even the shortest plan")
    func shortestPlan() throws {
        let plan = try plan([point(0, latitude: 0)])
        #expect(plan.steps.map(\.actor) == [.phone, .phone, .watch])
        #expect(plan.watchJoinsAfter == 1)
    }

    @Test("points out of order are replayed in the order of their times")
    func unsorted() throws {
        let plan = try plan([point(20, latitude: 0), point(0, latitude: 0), point(10, latitude: 0)])
        #expect(plan.steps.map(\.moment) == [0, 0, 10, 20, 20].map(at))
    }

    @Test("of several points of one moment one is replayed")
    func sameMoment() throws {
        let plan = try plan([0, 0, 5, 5].map { point($0, latitude: 0) })
        #expect(plan.steps.map(\.moment) == [0, 0, 5, 5].map(at))
        #expect(plan.sampleCount == 2)
    }

    @Test("every tap changes the state, so that a count of taps and samples says how far a device is")
    func everyStepCounts() throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        #expect(plan.finalState.eventCount == plan.steps.count(where: \.isTap))
        #expect(plan.sampleCount == plan.samples.count && plan.sampleCount > 100)
        #expect(try ReplayPlan(recording: .syntheticRun()) == plan)
    }

    @Test("the built-in run has what a replay shows: laps, pauses, heart rate, untimed points, an empty segment")
    func syntheticRun() throws {
        let recording = GPXRecording.syntheticRun()
        let plan = try ReplayPlan(recording: recording)
        #expect(recording.tracks.flatMap(\.segments).contains { $0.points.isEmpty })
        #expect(plan.untimedPointCount == 3)
        #expect(plan.finalState.laps.count == 3)
        #expect(plan.steps.count { $0.name == "pause" } == 2)
        #expect(plan.samples.allSatisfy { $0.heartRate != nil })
        let minutes = plan.finalState.elapsed(at: .distantFuture) / 60
        #expect((15...20).contains(minutes))
    }

    @Test("a recording without times cannot be replayed")
    func noTimes() {
        let recordings = [GPXRecording(tracks: []), recording([GPXPoint(latitude: 1, longitude: 1)])]
        for recording in recordings {
            #expect(throws: ReplayPlanError.noTimedPoints) { try ReplayPlan(recording: recording) }
        }
    }

    @Test("waits follow the recording, and a pause is cut to five seconds")
    func pace() {
        #expect(ReplayPace.times(1).wait(from: at(0), to: at(30)) == .seconds(30))
        #expect(ReplayPace.times(1).wait(from: at(0), to: at(30.5)) == .seconds(5))
        #expect(ReplayPace.times(1).wait(from: at(0), to: at(86_400)) == .seconds(5))
        #expect(ReplayPace.times(10).wait(from: at(0), to: at(2)) == .milliseconds(200))
        #expect(ReplayPace.times(1).wait(from: at(9), to: at(0)) == .zero)
        #expect(ReplayPace.asFastAsPossible.wait(from: at(0), to: at(2)) == .zero)
    }

    @Test("out of range each device taps once, and neither needs what the other does", arguments: [20, 60, 200.0])
    func stepsApart(speed: Double) throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let apart = plan.stepsApart(at: .times(speed))
        #expect(apart.lowerBound > plan.watchJoinsAfter)
        let taps = plan.steps[apart].filter(\.isTap)
        #expect(taps.count == 2)
        #expect(Set(taps.map(\.actor)).count == 2)
        #expect(plan.steps[apart].first?.isTap == false && plan.steps[apart].last?.isTap == true)
        #expect(taps.first?.name != "pause" && taps.last?.name != "finish")
        #expect(plan.stepsApart(at: .asFastAsPossible).isEmpty)
        #expect(try self.plan([point(0, latitude: 0), point(30, latitude: 0)]).stepsApart(at: .times(speed)).isEmpty)
    }

    private func plan(_ points: [GPXPoint]) throws -> ReplayPlan { try ReplayPlan(recording: recording(points)) }

    private func recording(_ points: [GPXPoint]) -> GPXRecording {
        GPXRecording(tracks: [GPXTrack(segments: [GPXSegment(points: points)])])
    }

    private func point(_ seconds: Double, latitude: Double) -> GPXPoint {
        GPXPoint(latitude: latitude, longitude: 14, time: at(seconds))
    }

    private func at(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_777_615_200 + seconds) }
}

extension ReplayPlan {
    var samples: [WorkoutSample] {
        steps.compactMap { step in if case .measure(let sample, _) = step { sample } else { nil } }
    }
}

extension ReplayPlan.Step {
    var name: String {
        switch self {
        case .measure: "sample"
        case .tap(.start, _): "start"
        case .tap(.pause, _): "pause"
        case .tap(.resume, _): "resume"
        case .tap(.lap, _): "lap"
        case .tap(.finish, _): "finish"
        }
    }
}
