import MeshSimulation
import Testing

/// Complete runs of clients, gateways and a store, from seeds. `plugins-tool simulate resume` runs more of them.
@Suite struct ResumeSimulationTests {
    private func failure(_ report: SeedReport) -> String? {
        report.failures.first.map { "\($0.reason); replay: plugins-tool simulate resume --seed \($0.seed)" }
    }

    @Test(arguments: 0..<5)
    func `Every client sees every event once and in order, whatever breaks`(part: UInt64) {
        let report = ResumeSimulation().run(part * 20..<(part + 1) * 20, stopsAtFailure: true)
        #expect(failure(report) == nil)
        #expect((report.counts["seen"] ?? 0) > 0)
    }

    @Test(arguments: 0..<5)
    func `Unless the store loses events, no client starts over`(part: UInt64) {
        let seeds = 1000 + part * 20..<1000 + (part + 1) * 20
        #expect(failure(ResumeSimulation(losesStore: false).run(seeds, stopsAtFailure: true)) == nil)
    }

    @Test func `A seed always gives the same run`() {
        let (first, second) = (ResumeSimulation().run(7..<9), ResumeSimulation().run(7..<9))
        #expect(first.counts == second.counts)
        #expect(first.faults == second.faults)
    }

    @Test(.enabled(if: Simulation.canBreakRules), arguments: ResumeSimulation.mutationNames)
    func `K1, K20, K22 and a store without a fence: broken rules are detected`(mutation: String) {
        let report = ResumeSimulation(mutation: mutation).run(0..<60, stopsAtFailure: true)
        #expect(!report.failures.isEmpty)
    }
}
