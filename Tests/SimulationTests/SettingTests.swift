import Testing

@testable import MeshSimulation

/// Settings other than the ordinary one. `plugins-tool simulate --setting` runs more seeds of each.
@Suite("Settings")
struct SettingTests {
    private static let subjects = [SimulationSubject(ListFeature.self), SimulationSubject(TextFeature.self)]

    private func simulation(
        _ setting: SimulationSetting, mutation: String? = nil, isOwn: Bool = false
    ) -> Simulation {
        Simulation(
            subjects: Self.subjects, options: SimulationOptions(mutation: mutation, setting: setting, isOwn: isOwn))
    }

    @Test(
        "the first seeds hold",
        arguments: [
            (SimulationSetting.liars, UInt64(30)), (.late, 16), (.incarnations, 1), (.hub, 16),
        ])
    func firstSeeds(setting: SimulationSetting, count: UInt64) {
        let report = simulation(setting).run(0..<count)
        #expect(report.failures.map { "--setting \(setting) --seed \($0.seed): \($0.reason)" } == [])
    }

    @Test(arguments: [(SimulationSetting.membership, UInt64(12)), (.liars, 30), (.hub, 12)])
    func `Devices of one user need no invitation`(setting: SimulationSetting, count: UInt64) {
        let report = simulation(setting, isOwn: true).run(0..<count)
        #expect(report.failures.map { "--setting \(setting) --own --seed \($0.seed): \($0.reason)" } == [])
    }

    @Test("liars of every kind send messages, singly and in floods")
    func liars() {
        let schedules = (UInt64(0)..<60).map { Schedule(seed: $0, setting: .liars) }
        #expect(schedules.contains { $0.liar == .stranger })
        #expect(schedules.contains { if case .member = $0.liar { true } else { false } })
        #expect(schedules.contains { if case .partner = $0.liar { true } else { false } })
        let report = simulation(.liars).run(0..<10)
        #expect((report.faults["lie"] ?? 0) > 50 && (report.faults["flood"] ?? 0) > 0)
    }

    @Test("a seed always gives the same run", arguments: SimulationSetting.allCases.filter { $0 != .incarnations })
    func deterministic(setting: SimulationSetting) {
        for seed in UInt64(0)..<4 {
            let (one, other) = (0..<2).map { _ in
                simulation(setting).outcome(of: simulation(setting).schedule(of: seed))
            }.pair
            #expect(one.frames == other.frames && one.operations == other.operations, "seed \(seed)")
            #expect(one.confirmed == other.confirmed && one.faults == other.faults, "seed \(seed)")
        }
    }

    @Test(
        "a broken rule is detected in its setting", .enabled(if: Simulation.canBreakRules),
        arguments: [
            ("strangersHeard", UInt64(40)), ("foldsReference", 40), ("sourcesKept", 1), ("deadGapKept", 40),
            ("additionOnHearsay", 4),
        ])
    func brokenRule(name: String, count: UInt64) {
        let report = simulation(Simulation.setting(for: name), mutation: name).run(0..<count, stopsAtFailure: true)
        #expect(!report.failures.isEmpty, "\(name) is not noticed by seed \(count)")
    }
}

extension [WorldOutcome] {
    fileprivate var pair: (WorldOutcome, WorldOutcome) { (self[0], self[1]) }
}
