import Testing

@testable import MeshSimulation

@Suite("Shrinking")
struct ShrinkingTests {
    /// Fails when the first peer has both a tap and a fault.
    private let subject = SimulationSubject(id: "pretended") { schedule, _ in
        var outcome = WorldOutcome(seed: schedule.seed)
        let fails = schedule.taps.contains { $0.peer == 0 } && schedule.faults.contains { $0.peer == 0 }
        outcome.failure = fails ? "pretended" : nil
        return outcome
    }

    @Test("a failing schedule shrinks to one tap, one fault and ideal conditions")
    func smallest() throws {
        let simulation = Simulation(subjects: [subject])
        let seed = try #require((0..<100).first { simulation.outcome(of: Schedule(seed: $0)).failure != nil })
        let shrunk = try #require(simulation.shrunk(Schedule(seed: seed)))
        #expect(shrunk.taps.count == 1 && shrunk.faults.count == 1, "seed \(seed)")
        #expect(shrunk.conditions.loss == 0 && shrunk.conditions.crash == 0, "seed \(seed)")
        #expect(shrunk.description.contains("tap by anna"))
    }

    @Test("a schedule that does not fail is not shrunk")
    func healthy() {
        let simulation = Simulation(subjects: [
            SimulationSubject(id: "fine") { schedule, _ in WorldOutcome(seed: schedule.seed) }
        ])
        #expect(simulation.shrunk(Schedule(seed: 1)) == nil)
    }

    @Test("a run counts its seeds and stops at the first that fails")
    func stopping() {
        let report = Simulation(subjects: [subject]).run(0..<1_000, stopsAtFailure: true)
        #expect(report.failures.count == 1)
        #expect(report.seeds == Int(report.failures[0].seed) + 1)
    }
}
