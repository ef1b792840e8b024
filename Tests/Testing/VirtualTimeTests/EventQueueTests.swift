import MeshBase
import MeshVirtualTime
import Testing

@Suite struct EventQueueTests {
    @Test("The queue returns entries by time, and at equal times in order of entry", arguments: 0..<50 as Range<UInt64>)
    func queue(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var queue = EventQueue<Int>()
        var expected: [(time: UInt64, entry: Int)] = []
        var taken: [Int] = []
        for entry in 0..<200 {
            let time = random.upTo(20)
            queue.enter(entry, at: time)
            expected.append((time, entry))
        }
        #expect(queue.count == 200)
        while let (_, entry) = queue.take() { taken.append(entry) }
        #expect(taken == expected.sorted { ($0.time, $0.entry) < ($1.time, $1.entry) }.map(\.entry), "seed \(seed)")
        #expect(queue.nextTime == nil)
    }
}
