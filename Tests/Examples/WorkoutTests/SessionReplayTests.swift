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
        var done = 0
        let runs = [
            Task {
                try await ReplayRunner(plan: plan, actor: .phone, session: phone).run()
                done += 1
            },
            Task {
                while phone.totals.sampleCount < plan.watchJoinsAfter { await Task.yield() }
                watch.start()
                try await ReplayRunner(plan: plan, actor: .watch, session: watch).run()
                done += 1
            },
        ]
        for _ in 0..<50_000 where done < 2 {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        for run in runs { run.cancel() }

        #expect(done == 2, "seed \(seed): \(phone.totals) on the phone, \(watch.totals) on the watch")
        #expect(phone.totals.sampleCount == plan.sampleCount && phone.totals == watch.totals, "seed \(seed)")
        #expect(watch.latestValue(of: .heartRate, by: "phone")?.value == plan.samples.last?.heartRate, "seed \(seed)")
        let tracks = try await [phone.track(), watch.track()]
        #expect(tracks[0] == tracks[1] && tracks[0].map(\.value) == plan.samples, "seed \(seed)")
        #expect(phone.state == plan.finalState, "seed \(seed): the phone after \(phone.state.eventCount) steps")
        #expect(watch.state == plan.finalState, "seed \(seed): the watch after \(watch.state.eventCount) steps")
        #expect(watch.statistics.snapshotsApplied > 0, "seed \(seed)")
        #expect(phone.statistics.applied + phone.statistics.snapshotsApplied > 0, "seed \(seed)")
    }

    @Test("a device that is apart makes its taps though the other one isn't there", arguments: [true, false])
    func alone(isApart: Bool) async throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let apart = isApart ? (plan.watchJoinsAfter + 1)..<plan.steps.count : 0..<0
        let network = ScenarioNetwork(seed: 1)
        let phone = device(.phone, on: network)
        phone.start()
        let runner = ReplayRunner(plan: plan, actor: .phone, session: phone, stepsApart: apart)
        let run = Task { try await runner.run() }
        for _ in 0..<2_000 where runner.moment != plan.steps.last?.moment {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        run.cancel()
        #expect((runner.moment == plan.steps.last?.moment) == isApart)
    }

    @Test("after steps apart both end in the plan's state", arguments: 0..<6 as Range<UInt64>)
    func stepsApart(seed: UInt64) async throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let network = ScenarioNetwork(seed: seed)
        let sessions = [(ReplayPlan.Actor.phone, device(.phone, on: network)), (.watch, device(.watch, on: network))]
        var done = 0
        let runs = sessions.map { actor, session in
            session.start()
            return Task {
                try await ReplayRunner(
                    plan: plan, actor: actor, session: session, pace: .times(60),
                    stepsApart: plan.stepsApart(at: .times(60)), sleep: { try await Self.sleep($0, in: network) }
                ).run()
                done += 1
            }
        }
        for _ in 0..<120_000 where done < 2 {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        for run in runs { run.cancel() }
        #expect(done == 2, "seed \(seed)")
        for (_, session) in sessions { #expect(session.state == plan.finalState, "seed \(seed)") }
    }

    @Test("taps on both sides at the same moments end in one state", arguments: 0..<6 as Range<UInt64>)
    func concurrentTaps(seed: UInt64) async throws {
        let plan = try ReplayPlan(recording: .syntheticRun())
        let network = ScenarioNetwork(seed: seed)
        let phone = device(.phone, on: network)
        let watch = device(.watch, on: network)
        phone.start()
        watch.start()
        let runs = [(ReplayPlan.Actor.phone, phone), (.watch, watch)].map { actor, session in
            Task { try await ReplayRunner(plan: plan, actor: actor, session: session, isConcurrent: true).run() }
        }
        let taps = plan.steps[plan.watchJoinsAfter...].count(where: \.isTap)
        let total = UInt64(plan.steps.count(where: \.isTap) + taps)
        for _ in 0..<50_000 where phone.confirmedCount < total || watch.confirmedCount < total {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        for run in runs { run.cancel() }

        #expect(phone.confirmedCount == total && watch.confirmedCount == total, "seed \(seed)")
        #expect(phone.state.digest == watch.state.digest, "seed \(seed)")
        #expect(phone.statistics.late + watch.statistics.late > 0, "seed \(seed): nothing was concurrent")
    }

    @Test("the timer on the wrist shows what the phone shows, though their clocks differ by minutes")
    func skewedClocks() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = device(.phone, on: network)
        let watch = device(.watch, on: network, clockAhead: 200)
        phone.start()
        watch.start()
        for _ in 0..<20_000 where watch.clock.errorSeconds == nil || watch.clock.isLocal {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        try phone.submit { .start(at: $0) }
        for _ in 0..<20_000 where watch.state.phase != .running {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        network.advance(by: .seconds(60))
        let (shown, onWrist) = (try #require(phone.timer), try #require(watch.timer))
        let error = try #require(onWrist.errorSeconds)
        #expect(error < 0.1)
        #expect(abs(shown.elapsed - onWrist.elapsed) <= error + 1e-6)
        #expect(watch.state.elapsed(at: network.now.addingTimeInterval(200)) > 250, "its own clock would be wrong")
    }

    @Test("two devices that measure the same way are not twice as far")
    func twoSensors() async throws {
        let network = ScenarioNetwork(seed: 2)
        let (phone, watch) = (device(.phone, on: network), device(.watch, on: network))
        phone.start()
        watch.start()
        try phone.submit(.start(at: network.now))
        for number in 1...10 {
            try phone.measure(WorkoutSample(moved: 3, heartRate: nil))
            try watch.measure(WorkoutSample(moved: number == 1 ? 0 : 3, heartRate: 120 + number))
        }
        for _ in 0..<20_000 where phone.seriesStatuses.count < 2 || watch.totals.distance < 30 {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        #expect(phone.totals.distance == 30 && phone.totals == watch.totals)
        let heartRate = WorkoutTotals(phone.summary(of: .track, by: "watch")).heartRate
        #expect(heartRate?.average == 126 && heartRate?.highest == 130 && heartRate?.latest == 130)
        #expect(phone.totals.pace(after: 15) == 500)
        for sample in [-1, .nan, .infinity].map({ WorkoutSample(moved: $0) }) + [WorkoutSample(heartRate: 501)] {
            #expect(throws: WorkoutError.invalidSample) { try phone.measure(sample) }
        }
    }

    @Test("what another device claims to have measured keeps nobody from tapping")
    func impossibleSamples() async throws {
        let network = ScenarioNetwork(seed: 3)
        let (phone, watch) = (device(.phone, on: network), device(.watch, on: network))
        phone.start()
        watch.start()
        try phone.submit(.start(at: network.now))
        for moved in [Double.nan, -Double.infinity, 3] {
            try watch.record(WorkoutSample(moved: moved, heartRate: .max), in: .track)
        }
        for _ in 0..<20_000 where phone.totals.sampleCount < 3 {
            network.advance(by: .milliseconds(1))
            await Task.yield()
        }
        #expect(phone.totals.sampleCount == 3 && phone.totals.distance == 0 && phone.totals.heartRate == nil)
        try phone.submit(.lap(at: network.now, distance: phone.totals.distance))
        #expect(phone.state.laps.count == 1)
    }

    private func device(
        _ actor: ReplayPlan.Actor, on network: ScenarioNetwork, clockAhead: TimeInterval = 0
    ) -> WorkoutSession {
        let peer = SessionPeer(
            id: actor.rawValue, deviceClass: SessionPeerDeviceClass(rawValue: actor.rawValue), appInstanceID: "test",
            topology: .pairedCompanion)
        return .workout(
            sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
            over: network.makeTransport(localPeer: peer)
        ) { configuration in
            configuration.seriesInterval = .milliseconds(100)
            configuration.now = { network.now.addingTimeInterval(clockAhead) }
            configuration.uptime = { network.elapsed }
            configuration.wait = { try await Self.sleep($0, in: network) }
        }
    }

    nonisolated private static func sleep(_ duration: Duration, in network: ScenarioNetwork) async throws {
        let end = network.elapsed + duration
        while network.elapsed < end {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
