import SessionMesh
import Testing
import WorkoutExample

@Suite("A replay over two engines")
struct EngineReplayTests {
    @Test("phone and watch end with the plan's state, wherever the watch joins")
    func lateJoin() throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        for joining in [0, 1, plan.watchJoinsAfter] {
            var phone = Device("phone")
            var watch = Device("watch")
            for (index, step) in plan.steps.enumerated() {
                if index == joining, index > 0 {
                    let result = try watch.engine.applySnapshot(phone.engine.makeSnapshot(at: step.moment))
                    guard case .applied = result else {
                        Issue.record("the watch did not take the snapshot at step \(joining)")
                        return
                    }
                }
                guard case .tap(let event, let tapper) = step else { continue }
                switch tapper {
                case .phone:
                    let envelope = try phone.engine.submitLocal(event, at: step.moment)
                    if index >= joining { try expectApplied(watch.engine.receive(envelope), at: index) }
                case .watch:
                    let envelope = try watch.engine.submitLocal(event, at: step.moment)
                    try expectApplied(phone.engine.receive(envelope), at: index)
                }
            }
            #expect(phone.state == plan.finalState)
            #expect(watch.state == plan.finalState)
            #expect(phone.state.digest == watch.state.digest)
        }
    }

    private func expectApplied(_ result: SessionSyncReceiveResult<WorkoutState>, at index: Int) throws {
        guard case .applied = result else {
            Issue.record("step \(index): \(result)")
            return
        }
    }
}
