import Testing

@testable import MeshSimulation

@Suite("Schedules")
struct ScheduleTests {
    @Test("a seed always gives the same schedule")
    func deterministic() {
        for seed in UInt64(0)..<50 { #expect(Schedule(seed: seed) == Schedule(seed: seed)) }
    }

    @Test("every seed has at least 80 taps and one fault, in order and in range")
    func contents() {
        for seed in UInt64(0)..<500 {
            let schedule = Schedule(seed: seed)
            #expect(schedule.taps.count >= 80 && !schedule.faults.isEmpty, "seed \(seed)")
            #expect(schedule.taps.map(\.at) == schedule.taps.map(\.at).sorted(), "seed \(seed)")
            #expect(schedule.taps.allSatisfy { (0..<schedule.peerCount).contains($0.peer) }, "seed \(seed)")
            #expect(schedule.faults.allSatisfy { (0..<schedule.span + 250).contains($0.at) }, "seed \(seed)")
        }
    }

    @Test("every fifth seed has three to five peers and loses no store, the others have two")
    func sizes() {
        for seed in UInt64(0)..<500 {
            let schedule = Schedule(seed: seed)
            #expect(schedule.peerCount == 2 || seed % 5 == 0 && (3...5).contains(schedule.peerCount))
            #expect(schedule.peerCount == 2 || !schedule.faults.contains { $0.fault == .loseStore }, "seed \(seed)")
        }
    }
}
