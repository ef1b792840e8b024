import MeshBase
import Testing

@testable import MeshSimulation

/// Groups that members join and leave. `plugins-tool simulate --setting company` runs more seeds.
@Suite("Company")
struct CompanyTests {
    private func simulation(_ members: Int?, mutation: String? = nil) -> Simulation {
        Simulation(
            subjects: [SimulationSubject(ListFeature.self), SimulationSubject(TextFeature.self)],
            options: SimulationOptions(mutation: mutation, setting: .company, members: members))
    }

    @Test(
        "the first seeds hold in groups of each size",
        arguments: [(2, UInt64(30)), (3, 30), (5, 16), (16, 1)])
    func firstSeeds(members: Int, count: UInt64) {
        let report = simulation(members).run(0..<count)
        let failures = report.failures.map {
            "--setting company --members \(members) --seed \($0.seed): \($0.reason)"
        }
        #expect(failures == [])
        #expect((report.counts["confirmed"] ?? 0) > 0)
    }

    @Test("groups begin paired and as two that meet, of some of the peers and of all", arguments: [3, 5])
    func beginnings(members: Int) {
        let schedules = (UInt64(0)..<60).map { Schedule(seed: $0, setting: .company, members: members) }
        let founders = schedules.map { (isPaired: $0.isPaired, count: $0.company?.founders.count) }
        #expect(founders.contains { $0.isPaired && $0.count == members })
        #expect(founders.contains { $0.isPaired && $0.count == 2 })
        #expect(founders.contains { !$0.isPaired && $0.count == 2 })
        #expect(schedules.allSatisfy { $0.peerCount == members && $0.faults.allSatisfy { $0.peer < members } })
    }

    @Test("members come, are let go, come back, lose stores and hand events on, and none speaks for another")
    func everythingHappens() throws {
        let report = simulation(3).run(0..<40)
        let company = try #require(report.tables["company"])
        let kinds = ["views", "joins", "fences", "returns", "replacements", "relays", "primariesLost"]
        #expect(kinds.allSatisfy { (company[$0] ?? 0) > 0 })
        #expect(report.faults["speakingForAnother"] == 0)
        let happened = ["longPartition", "primaryLost", "invitation", "leaving", "lostStore", "abandonedPeer"]
        #expect(happened.allSatisfy { (report.faultSeeds[$0] ?? 0) > 0 })
        #expect((simulation(2).run(0..<20).faultSeeds["goingOn"] ?? 0) > 0)
    }

    @Test("a schedule says who is there, who comes and who leaves")
    func description() {
        let texts = (UInt64(0)..<40).map { Schedule(seed: $0, setting: .company, members: 5).description }
        #expect(texts.allSatisfy { $0.contains("at first ") })
        #expect(texts.contains { $0.contains(" comes and is let in by ") })
        #expect(texts.contains { $0.contains(" leaves\n") })
    }

    @Test(
        "a broken rule of views is noticed", .enabled(if: Simulation.canBreakRules),
        arguments: ["noFreeze", "minorityDecides", "relayRefused", "fenceUnheard"])
    func brokenRule(name: String) {
        let report = simulation(nil, mutation: name).run(0..<60, stopsAtFailure: true)
        #expect(!report.failures.isEmpty, "\(name) is not noticed by seed 60")
    }
}
