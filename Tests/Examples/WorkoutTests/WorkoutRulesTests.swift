import Foundation
import SessionMesh
import Testing
import WorkoutExample

@Suite("Workout rules")
struct WorkoutRulesTests {
    @Test("elapsed time counts from the start, stands still in a pause and is frozen by the finish")
    func elapsedTime() throws {
        var phone = Device("phone")
        #expect(phone.state.phase == .ready)
        #expect(phone.state.elapsed(at: at(5)) == 0)
        try phone.tap(.start(at: at(0)), .pause(at: at(10)))
        #expect(phone.state.phase == .paused)
        #expect(phone.state.elapsed(at: at(60)) == 10)
        try phone.tap(.resume(at: at(70)))
        #expect(phone.state.phase == .running)
        #expect(phone.state.elapsed(at: at(75)) == 15)
        try phone.tap(.finish(at: at(80)))
        #expect(phone.state.phase == .finished)
        #expect(phone.state.elapsed(at: at(1_000)) == 20)
    }

    @Test("distance, heart rate and pace follow the samples")
    func samples() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)), sample(0, moved: 0))
        #expect(phone.state.pace(at: at(1)) == nil)
        try phone.tap(sample(100, moved: 250, heartRate: 120), sample(200, moved: 250, heartRate: 141))
        #expect(phone.state.distance == 500)
        #expect(phone.state.sampleCount == 3)
        #expect(phone.state.pace(at: at(200)) == 400)
        #expect(phone.state.heartRate == HeartRateSummary(latest: 141, highest: 141, sum: 261, count: 2))
        #expect(phone.state.heartRate?.average == 130)
        #expect(phone.state.position == WorkoutPosition(latitude: 46, longitude: 14, elevation: 300))
    }

    @Test("a lap has its own time and distance, without pauses")
    func laps() throws {
        var phone = Device("phone")
        try phone.tap(
            .start(at: at(0)), sample(50, moved: 400), .lap(at: at(60)), sample(90, moved: 300),
            .pause(at: at(100)), .resume(at: at(500)), sample(510, moved: 100), .lap(at: at(520)))
        #expect(phone.state.laps.map(\.duration) == [60, 60])
        #expect(phone.state.laps.map(\.distance) == [400, 400])
        #expect(phone.state.laps.map(\.endDistance) == [400, 800])
        #expect(phone.state.lapDistance == 0)
    }

    @Test("what makes no sense in a phase changes nothing")
    func rejectedEvents() throws {
        let everything: [WorkoutEvent] = [
            .start(at: at(200)), sample(200, moved: 1), .pause(at: at(200)), .resume(at: at(200)), .lap(at: at(200)),
            .finish(at: at(200)),
        ]
        let phases: [(reached: [WorkoutEvent], accepted: [WorkoutEvent])] = [
            ([], [everything[0]]),
            ([.start(at: at(0))], [everything[1], everything[2], everything[4], everything[5]]),
            ([.start(at: at(0)), .pause(at: at(9))], [everything[3], everything[5]]),
            ([.start(at: at(0)), .finish(at: at(9))], []),
        ]
        for phase in phases {
            for event in everything {
                var phone = Device("phone")
                for step in phase.reached { try phone.tap(step) }
                let before = phone.state
                try phone.tap(event)
                #expect((phone.state != before) == phase.accepted.contains(event), "\(event) in \(before.phase)")
            }
        }
    }

    @Test("a lap tapped on both wrists counts once")
    func doubleTap() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)), .lap(at: at(60)), .lap(at: at(61.9)))
        #expect(phone.state.laps.count == 1)
        try phone.tap(.lap(at: at(62)))
        #expect(phone.state.laps.count == 2)
    }

    @Test("laps are bounded")
    func lapLimit() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)))
        for lap in 1...WorkoutPolicy.lapsMax + 1 { try phone.tap(.lap(at: at(Double(lap) * 10))) }
        #expect(phone.state.laps.count == WorkoutPolicy.lapsMax)
    }

    @Test("an impossible sample is refused where it is submitted and takes no sequence")
    func invalidSamples() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)))
        let before = phone.state
        let events = [
            sample(1, moved: -1), sample(1, moved: .nan), sample(1, moved: .infinity),
            sample(1, moved: 1, heartRate: 501), sample(1, moved: 1, heartRate: .min),
        ]
        for event in events {
            #expect(throws: WorkoutError.invalidSample) { try phone.tap(event) }
        }
        #expect(phone.state == before)
        #expect(phone.engine.store.nextLocalSequence == 2)
    }

    @Test("events and state survive every codec of the wire")
    func codecs() throws {
        let position = WorkoutPosition(latitude: 46.0512345, longitude: -14.5, elevation: nil)
        let events: [WorkoutEvent] = [
            .start(at: at(0.1)), .sample(at: at(0.3), position: position, moved: 0.1 + 0.2, heartRate: nil),
            sample(7, moved: 1.5, heartRate: 99), .pause(at: at(8)), .resume(at: at(9)), .lap(at: at(10)),
            .finish(at: at(11)),
        ]
        var phone = Device("phone")
        for event in events { try phone.tap(event) }
        for codec: any PayloadCodec in [JSONCodec(), CompactCodec()] {
            #expect(try codec.decode([WorkoutEvent].self, from: codec.encode(events)) == events, "\(codec.id)")
            let state = try codec.decode(WorkoutState.self, from: codec.encode(phone.state))
            #expect(state == phone.state, "\(codec.id)")
            #expect(state.digest == phone.state.digest, "\(codec.id)")
        }
    }

    private func sample(_ seconds: Double, moved: Double, heartRate: Int? = nil) -> WorkoutEvent {
        .sample(
            at: at(seconds), position: WorkoutPosition(latitude: 46, longitude: 14, elevation: 300), moved: moved,
            heartRate: heartRate)
    }

    private func at(_ seconds: Double) -> Date { Date(timeIntervalSince1970: 1_777_615_200 + seconds) }
}

/// A device reduced to its engine.
struct Device {
    var engine: SessionSyncEngine<WorkoutState, WorkoutEvent, WorkoutReducer, WorkoutPolicy>

    init(_ name: String) {
        engine = SessionSyncEngine(
            sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), featureID: "workout",
            localPeerID: name, payloadType: "workout.event", snapshotPayloadType: "workout.state",
            initialState: WorkoutState(), reducer: WorkoutReducer(), conflictPolicy: WorkoutPolicy())
    }

    var state: WorkoutState { engine.state }

    mutating func tap(_ events: WorkoutEvent...) throws {
        for event in events { _ = try engine.submitLocal(event, at: event.moment) }
    }
}
