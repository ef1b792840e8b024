import MeshSimulation
import Testing

/// Complete transports between a phone and its watches.
@Suite struct WatchSimulationTests {
    @Test("On a good day everything arrives once and in order", arguments: 0..<3 as Range<UInt64>)
    func calm(seed: UInt64) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = WatchSimulation(hasFaults: false).run(seed: seed)
        #expect(report.failure == nil, "seed \(seed)")
        #expect(report.counts["delivered"] == 80)
    }

    @Test
    func `Everything still arrives through suspensions, relaunches, false reports, losses and switches of the watch`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = WatchSimulation().run(0..<50)
        #expect(report.failures.map(\.seed) == [])
        #expect(report.counts["delivered"] == report.counts["envelopes"])
        for kind in ["suspension", "kill", "relaunch", "lie", "switch"] { #expect(report.faults[kind] ?? 0 > 0) }
    }

    @Test func `Sessions are equal ten seconds after the last tap, despite background time, suspensions and kills`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = SessionWatchSimulation().run(0..<40)
        for failure in report.failures { Issue.record("seed \(failure.seed): \(failure.reason)") }
        for kind in ["background", "suspension", "kill", "clock set"] { #expect(report.faults[kind] ?? 0 > 0) }
        #expect((report.counts["timerReadings"] ?? 0) > 1_000)
    }

    @Test func `Written messages are shown once after power cuts`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = SessionWatchSimulation(losesPower: true).run(0..<8)
        for failure in report.failures { Issue.record("seed \(failure.seed): \(failure.reason)") }
        for kind in ["power cut", "refused commit", "apart", "lost store"] {
            #expect(report.faults[kind] ?? 0 > 0, "\(kind)")
        }
    }

    @Test(
        "A broken rule is detected with power cuts", .enabled(if: Simulation.canBreakRules),
        arguments: ["mergeKeepsReduced", "adoptLoses", "wallClockCounts"])
    func brokenRule(name: String) {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let simulation = SessionWatchSimulation(losesPower: true, mutation: name)
        #expect(!simulation.run(0..<20, stopsAtFailure: true).failures.isEmpty, "\(name) is not noticed by seed 20")
    }

    @Test func `A launch without a store shows the newest state that the dead device published`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        var simulation = ColdLaunchSimulation()
        for failure in simulation.run(0..<20).failures { Issue.record("seed \(failure.seed): \(failure.reason)") }
        // A device publishes at most every five seconds.
        simulation.publishingSeconds = 1
        #expect(!simulation.run(0..<40, stopsAtFailure: true).failures.isEmpty)
    }

    @Test func `In a week of workouts, urgent changes arrive within seconds, once, and within the budget`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = WakeWeekSimulation().run(0..<2)
        for failure in report.failures { Issue.record("seed \(failure.seed): \(failure.reason)") }
        let wakes = report.tables["wakesOfDays"] ?? [:]
        // Two weeks: the sixth days use up the budget, and the fourth ones have none.
        #expect(wakes["day 6"] == 100 && wakes["day 4"] == 0 && wakes.values.reduce(0, +) == report.counts["wakes"])
        #expect(report.greatest["medianSoonSeconds"] ?? .infinity < 5)
        var normal = WakeWeekSimulation()
        normal.isUrgent = false
        let other = normal.run(0..<2)
        #expect(other.failures.map(\.seed) == [] && other.counts["wakes"] == 0)
        #expect(other.greatest["medianLateHours"] ?? 0 > 1)
        print("wakes: \(report.counts) \(report.greatest) \(wakes)")
        print("without urgency: \(other.counts) \(other.greatest)")
    }

    @Test func `The simulation finds the losses of apps without stores`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        var simulation = WatchSimulation()
        simulation.hasStores = false
        simulation.patience = .seconds(600)
        #expect(!simulation.run(0..<10).failures.isEmpty)
    }

    @Test func `A seed always gives the same run`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let (first, second) = (WatchSimulation().run(seed: 7), WatchSimulation().run(seed: 7))
        #expect(first.simulatedSeconds == second.simulatedSeconds)
        #expect(first.faults == second.faults)
    }
}
