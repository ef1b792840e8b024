import MeshBase
import Testing

@testable import MeshSimulation

/// Groups that members join and leave. `plugins-tool simulate --setting company` runs more seeds.
@Suite("Membership")
struct MembershipTests {
    private func simulation(_ members: Int?, mutation: String? = nil) -> Simulation {
        Simulation(
            subjects: [SimulationSubject(ListFeature.self), SimulationSubject(TextFeature.self)],
            options: SimulationOptions(mutation: mutation, setting: .membership, members: members))
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

    @Test("groups start paired or as two peers that meet, with some of the peers or all", arguments: [3, 5])
    func beginnings(members: Int) {
        let schedules = (UInt64(0)..<60).map { Schedule(seed: $0, setting: .membership, members: members) }
        let founders = schedules.map { (isPaired: $0.isPaired, count: $0.membership?.founders.count) }
        #expect(founders.contains { $0.isPaired && $0.count == members })
        #expect(founders.contains { $0.isPaired && $0.count == 2 })
        #expect(founders.contains { !$0.isPaired && $0.count == 2 })
        #expect(schedules.allSatisfy { $0.peerCount == members && $0.faults.allSatisfy { $0.peer < members } })
    }

    @Test("members join, are removed, return, lose stores and relay events, and none impersonates another")
    func everythingHappens() throws {
        let report = simulation(3).run(0..<40)
        let membership = try #require(report.tables["company"])
        let kinds = ["views", "joins", "fences", "returns", "replacements", "relays", "primariesLost"]
        #expect(kinds.allSatisfy { (membership[$0] ?? 0) > 0 })
        #expect(report.faults["speakingForAnother"] == 0)
        let happened = ["longPartition", "primaryLost", "invitation", "leaving", "lostStore", "abandonedPeer"]
        #expect(happened.allSatisfy { (report.faultSeeds[$0] ?? 0) > 0 })
        #expect((simulation(2).run(0..<20).faultSeeds["goingOn"] ?? 0) > 0)
    }

    @Test("a schedule lists the first members, the joining peers and the leaving peers")
    func description() {
        let texts = (UInt64(0)..<40).map { Schedule(seed: $0, setting: .membership, members: 5).description }
        #expect(texts.allSatisfy { $0.contains("at first ") })
        #expect(texts.contains { $0.contains(" joins, invited by ") })
        #expect(texts.contains { $0.contains(" leaves\n") })
    }

    @Test(
        "a broken rule of views is detected", .enabled(if: Simulation.canBreakRules),
        arguments: ["noFreeze", "minorityDecides", "relayRefused", "fenceUnheard"])
    func brokenRule(name: String) {
        let report = simulation(nil, mutation: name).run(0..<60, stopsAtFailure: true)
        #expect(!report.failures.isEmpty, "\(name) is not noticed by seed 60")
    }
}
