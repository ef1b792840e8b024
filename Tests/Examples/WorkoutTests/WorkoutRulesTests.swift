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
        try phone.tap(finish(80, 0))
        #expect(phone.state.phase == .finished)
        #expect(phone.state.elapsed(at: at(1_000)) == 20)
    }

    @Test("a lap has its own time and distance, without pauses")
    func laps() throws {
        var phone = Device("phone")
        try phone.tap(
            .start(at: at(0)), lap(60, 400), .pause(at: at(100)), .resume(at: at(500)), lap(520, 800))
        #expect(phone.state.laps.map(\.duration) == [60, 60])
        #expect(phone.state.laps.map(\.distance) == [400, 400])
        #expect(phone.state.laps.map(\.endDistance) == [400, 800])
        #expect(phone.state.distance == 800)
    }

    @Test("whoever has seen less of the way ends a lap where the other did")
    func lapBehind() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)), lap(60, 400), lap(90, 350), .finish(at: at(120), distance: 390))
        #expect(phone.state.laps.map(\.distance) == [400, 0])
        #expect(phone.state.distance == 400)
    }

    @Test("what makes no sense in a phase changes nothing")
    func rejectedEvents() throws {
        let everything: [WorkoutEvent] = [
            .start(at: at(200)), .pause(at: at(200)), .resume(at: at(200)), lap(200, 1), finish(200, 1),
        ]
        let phases: [(reached: [WorkoutEvent], accepted: [WorkoutEvent])] = [
            ([], [everything[0]]),
            ([.start(at: at(0))], [everything[1], everything[3], everything[4]]),
            ([.start(at: at(0)), .pause(at: at(9))], [everything[2], everything[4]]),
            ([.start(at: at(0)), finish(9, 0)], []),
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
        try phone.tap(.start(at: at(0)), lap(60, 0), lap(61.9, 0))
        #expect(phone.state.laps.count == 1)
        try phone.tap(lap(62, 0))
        #expect(phone.state.laps.count == 2)
    }

    @Test("laps are bounded")
    func lapLimit() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)))
        for lap in 1...WorkoutPolicy.lapsMax + 1 { try phone.tap(self.lap(Double(lap) * 10, 0)) }
        #expect(phone.state.laps.count == WorkoutPolicy.lapsMax)
    }

    @Test("an impossible distance is refused where it is submitted and takes no sequence")
    func invalidDistances() throws {
        var phone = Device("phone")
        try phone.tap(.start(at: at(0)))
        let before = phone.state
        for distance in [-1, .nan, .infinity] {
            #expect(throws: WorkoutError.invalidDistance) { try phone.tap(lap(1, distance)) }
            #expect(throws: WorkoutError.invalidDistance) { try phone.tap(finish(1, distance)) }
        }
        #expect(phone.state == before)
        #expect(phone.engine.store.nextLocalSequence == 2)
    }

    @Test("events and state survive every codec of the wire")
    func codecs() throws {
        let events: [WorkoutEvent] = [
            .start(at: at(0.1)), .pause(at: at(8)), .resume(at: at(9)), lap(10, 0.1 + 0.2), finish(11, 1.5),
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

    private func lap(_ seconds: Double, _ distance: Double) -> WorkoutEvent {
        .lap(at: at(seconds), distance: distance)
    }

    private func finish(_ seconds: Double, _ distance: Double) -> WorkoutEvent {
        .finish(at: at(seconds), distance: distance)
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
