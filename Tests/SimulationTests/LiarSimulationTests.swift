import MeshSimulation
import Testing

/// Complete apps, and a paired device that forges messages of every feature.
@Suite struct LiarSimulationTests {
    @Test func `Apps continue despite a liar, can read their stores, and continue without it`() {
        guard #available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *) else { return }
        let report = LiarSimulation().run(0..<6)
        for failure in report.failures {
            Issue.record("\(failure.reason); replay with: plugins-tool simulate liar --seed \(failure.seed) --trace")
        }
        for kind in ["tap", "samples", "value shown", "key", "relaunch"] {
            #expect(report.faults[kind] ?? 0 > 0, "\(kind)")
        }
        #expect(report.tables["forgedByType"]?.count ?? 0 > 5)
    }

    @Test func `A device that forges frames takes nothing from the others' mailboxes`() {
        let report = MailboxSimulation(hasLiar: true).run(0..<24)
        for failure in report.failures {
            Issue.record(
                "\(failure.reason); replay with: plugins-tool simulate mailboxes --liar --seed \(failure.seed)")
        }
        #expect(report.faults["lie"] ?? 0 > 100)
    }
}
