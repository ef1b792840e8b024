import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct ScheduleTests {
    @Test(
        "Under any schedule nothing queued is lost, all is in order, and no app gets an invalid call"
    )
    func invariants() throws {
        var totals = SimulatedWatchStatistics()
        for seed in 0..<3_000 as Range<UInt64> {
            let schedule = Schedule(seed: seed, conditions: seed % 3 == 0 ? .calm : .rough)
            schedule.run(steps: 80)
            let violations = schedule.violations()
            #expect(violations.isEmpty, "seed \(seed)")
            guard violations.isEmpty else { return print(schedule.pair.report) }
            let counts = schedule.pair.statistics
            totals.userInfosDelivered += counts.userInfosDelivered
            totals.messagesDelivered += counts.messagesDelivered
            totals.contextsDelivered += counts.contextsDelivered
            totals.crashesWhileDelivering += counts.crashesWhileDelivering
            totals.wakes += counts.wakes
        }
        // The schedules really cover these cases.
        #expect(totals.userInfosDelivered > 10_000 && totals.messagesDelivered > 3_000)
        #expect(totals.contextsDelivered > 3_000 && totals.crashesWhileDelivering > 100 && totals.wakes > 500)
    }

    @Test("Under any schedule with files, the same holds")
    func files() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ScheduleTests-\(UUID().uuidString)")
        try Data([1, 2, 3]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var delivered = 0
        for seed in 0..<150 as Range<UInt64> {
            let schedule = Schedule(seed: seed, conditions: .rough, file: file)
            schedule.run(steps: 80)
            let violations = schedule.violations()
            #expect(violations.isEmpty, "seed \(seed)")
            guard violations.isEmpty else { return print(schedule.pair.report) }
            delivered += schedule.pair.statistics.filesDelivered
        }
        #expect(delivered > 100)
    }

    @Test("Equal seeds give equal traces, other seeds others")
    func determinism() {
        var traces: Set<[SimulatedWatchTraceEntry]> = []
        for seed in 0..<50 as Range<UInt64> {
            let runs = (0..<2).map { _ in
                let schedule = Schedule(seed: seed, conditions: .rough)
                schedule.run(steps: 80)
                return schedule.pair.trace
            }
            #expect(runs[0] == runs[1], "seed \(seed)")
            traces.insert(runs[0])
        }
        #expect(traces.count == 50)
    }

    @Test("A report names the seed and what happened")
    func report() throws {
        let running = try Running(seed: 42)
        running.phone.send(1)
        running.pair.runUntilIdle()
        let report = running.pair.report
        #expect(report.hasPrefix("seed 42\n"))
        #expect(report.contains("phone: message") && report.contains("watch: app foreground"))
    }
}
