import MeshBase
import Testing

@testable import MeshSimulation

@Suite("The network of frames")
struct FrameNetworkTests {
    private func network(seed: UInt64 = 10, _ change: (inout Conditions) -> Void = { _ in }) -> FrameNetwork {
        var schedule = Schedule(seed: seed)
        schedule.conditions.loss = 0
        schedule.conditions.duplication = 0
        schedule.conditions.longTail = 0
        change(&schedule.conditions)
        return FrameNetwork(schedule)
    }

    @Test("equal seeds give equal fates, and one link does not change another's")
    func deterministic() {
        var one = network()
        var other = network()
        for _ in 0..<100 { _ = other.fate(from: 2, to: 1, at: 0) }
        for _ in 0..<100 { #expect(one.fate(from: 0, to: 1, at: 0).first == other.fate(from: 0, to: 1, at: 0).first) }
    }

    @Test("losses, duplicates and delays are close to the rates")
    func rates() {
        var network = network {
            $0.loss = 0.4
            $0.duplication = 0.3
            $0.longTail = 0.1
        }
        var lost = 0
        for _ in 0..<10_000 where network.fate(from: 0, to: 1, at: 0).first == nil { lost += 1 }
        #expect((3_700...4_300).contains(lost))
        #expect((1_600...2_000).contains(network.counts[.duplication]))
        #expect((600...950).contains(network.counts[.longTail]))
        #expect(network.counts[.reordering] > 1_000)
    }

    @Test("the jitter's mean is as configured", arguments: [30, 150, 600])
    func jitter(mean: Int) {
        var random = SplitMix64(seed: 3)
        let sum = (0..<100_000).reduce(0) { sum, _ in sum + random.exponential(mean: mean * 1_000) }
        // The piecewise linear logarithm makes the mean 4 percent larger than the exact one.
        #expect((0.98...1.07).contains(Double(sum) / Double(100_000 * mean * 1_000)))
    }

    @Test("overlapping partitions end one by one, and healing ends all but those of abandoned peers")
    func partitions() {
        var network = network()
        network.cut(from: 0, to: 1, by: 1)
        network.cut(from: 0, to: 1, by: 1)
        network.cut(from: 0, to: 1, by: -1)
        #expect(network.fate(from: 0, to: 1, at: 0).first == nil)
        #expect(network.fate(from: 1, to: 0, at: 0).first != nil)
        network.cut(from: 2, to: 0, by: 1)
        network.heal(except: [2])
        #expect(network.fate(from: 0, to: 1, at: 0).first != nil)
        #expect(network.fate(from: 2, to: 0, at: 0).first == nil)
    }
}
