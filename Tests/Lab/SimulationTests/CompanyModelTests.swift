import MeshSimulation
import Testing

/// The model of views. Ten thousands of seeds and whole searches are for `plugins-tool simulate --model`; here are few of each.
@Suite struct CompanyModelTests {
    @Test("All promises hold, and all agree when it is calm", arguments: [(2, 12), (3, 12), (5, 8), (16, 1)])
    func seeds(members: Int, count: UInt64) {
        let report = CompanySimulation(members: members).run(0..<count)
        #expect(report.failures.isEmpty, "\(members) members: \(report.failures)")
        #expect(report.confirmed > 0)
        #expect(report.faults["decided", default: 0] > 0)
    }

    @Test func `One seed goes the same way every time`() {
        let simulation = CompanySimulation(members: 5)
        let (first, second) = (simulation.run(7..<8), simulation.run(7..<8))
        #expect(first.faults == second.faults)
        #expect(first.confirmed == second.confirmed)
    }

    @Test func `Three members close one, in every order in which anything may arrive`() {
        let report = CompanySimulation.search(CompanyBounds(members: 3, taps: 1, ballots: 1))
        #expect(report.violation == nil, "\(report.violation?.steps ?? [])")
        #expect(report.isComplete)
        #expect(report.statesAfterFirstView > 0)
        #expect(report.statesWithConfirmed > 0)
    }

    @Test func `Two members take in a third, in every order`() {
        var bounds = CompanyBounds(members: 2, taps: 1, ballots: 1)
        (bounds.newcomers, bounds.ticks) = (1, 1)
        let report = CompanySimulation.search(bounds)
        #expect(report.violation == nil, "\(report.violation?.steps ?? [])")
        #expect(report.isComplete)
        #expect(report.confirmedMost == 1)
    }
}
