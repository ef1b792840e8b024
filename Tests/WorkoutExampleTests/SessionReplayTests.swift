import Foundation
import MeshGPX
import SessionMesh
import Testing
import WorkoutExample

@MainActor @Suite("A replay over two sessions")
struct SessionReplayTests {
    @Test("phone and watch end with the plan's state over a simulated network", arguments: 0..<6 as Range<UInt64>)
    func convergence(seed: UInt64) async throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let network = ScenarioNetwork(seed: seed)
        let phone = device(.phone, on: network)
        let watch = device(.watch, on: network)
        phone.start()
        let runs = [
            Task { try await ReplayRunner(plan: plan, actor: .phone, session: phone).run() },
            Task {
                while phone.state.eventCount < plan.watchJoinsAfter { await Task.yield() }
                watch.start()
                try await ReplayRunner(plan: plan, actor: .watch, session: watch).run()
            },
        ]
        for _ in 0..<50_000 where phone.state.phase != .finished || watch.state.phase != .finished {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        for run in runs { run.cancel() }

        #expect(phone.state == plan.finalState, "seed \(seed): the phone after \(phone.state.eventCount) steps")
        #expect(watch.state == plan.finalState, "seed \(seed): the watch after \(watch.state.eventCount) steps")
        #expect(watch.statistics.snapshotsApplied > 0, "seed \(seed)")
        #expect(phone.statistics.applied + phone.statistics.snapshotsApplied > 0, "seed \(seed)")
    }

    private func device(_ actor: ReplayPlan.Actor, on network: ScenarioNetwork) -> WorkoutSession {
        let peer = SessionPeer(
            id: actor.rawValue, deviceClass: SessionPeerDeviceClass(rawValue: actor.rawValue), appInstanceID: "test",
            topology: .pairedCompanion)
        return .workout(
            sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
            over: network.makeTransport(localPeer: peer), now: { network.now })
    }
}
