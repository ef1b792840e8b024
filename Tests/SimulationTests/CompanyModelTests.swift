import MeshSimulation
import Testing

/// The model of views. Ten thousands of seeds and whole searches are for `plugins-tool simulate model`; here are few of each.
@Suite struct CompanyModelTests {
    @Test("All promises hold, and all agree when it is calm", arguments: [(2, 12), (3, 12), (5, 8), (16, 1)])
    func seeds(members: Int, count: UInt64) {
        let report = CompanySimulation(members: members).run(0..<count)
        #expect(report.failures.isEmpty, "\(members) members: \(report.failures)")
        #expect((report.counts["confirmed"] ?? 0) > 0)
        #expect(report.faults["decided", default: 0] > 0)
    }

    @Test func `One seed goes the same way every time`() {
        let simulation = CompanySimulation(members: 5)
        let (first, second) = (simulation.run(7..<8), simulation.run(7..<8))
        #expect(first.faults == second.faults)
        #expect(first.counts == second.counts)
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

    /// The first seed from 0 on that shows it; `plugins-tool simulate model --mutations` looks for them.
    private static let caught: [(CompanyMutation, members: Int, seed: UInt64)] = [
        (.newerViewCounts, 5, 377), (.noMajority, 3, 0), (.forgetsAccepted, 3, 19), (.quarantineLifted, 3, 8),
        (.noQuarantine, 3, 1), (.quarantineHides, 3, 6), (.unequalClose, 3, 97), (.closeWithoutAll, 3, 128),
        (.closedHeard, 3, 2), (.relayByQuarantined, 3, 101), (.voteUnpersisted, 3, 55), (.floorless, 3, 1),
        (.reissueByOthers, 3, 37), (.olderDecree, 3, 2), (.otherSideInstalled, 3, 495),
    ]

    @Test("A broken rule is noticed, and by that rule alone", arguments: caught)
    func mutation(mutation: CompanyMutation, members: Int, seed: UInt64) {
        let broken = CompanySimulation(members: members, breaking: [mutation]).run(seed..<seed + 1)
        #expect(broken.failures.count == 1, "\(mutation.name), seed \(seed)")
        let whole = CompanySimulation(members: members).run(seed..<seed + 1)
        #expect(whole.failures.isEmpty, "seed \(seed): \(whole.failures)")
    }

    @Test func `A search finds the shortest way to two views of one number`() {
        let bounds = CompanySimulation.bounds(for: .noMajority)
        let report = CompanySimulation.search(bounds, breaking: [.noMajority])
        #expect(report.violation?.steps.count == 6)
    }
}
