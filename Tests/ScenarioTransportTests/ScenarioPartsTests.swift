import Testing

@testable import MeshScenarioTransport

@Suite struct ScenarioPartsTests {
    @Test func `The generator gives the published numbers of splitmix64`() {
        var random = SplitMix64(seed: 1_234_567)
        #expect(
            (0..<5).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }

    @Test("Draws stay within their bound and reach both ends", arguments: 0...6 as ClosedRange<UInt64>)
    func draws(most: UInt64) {
        var random = SplitMix64(seed: most)
        let drawn = Set((0..<500).map { _ in random.upTo(most) })
        #expect(drawn == Set(0...most))
    }

    @Test("The queue gives back by time, and at one time by entry", arguments: 0..<50 as Range<UInt64>)
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

    @Test("Latencies stay within what their case says", arguments: 0..<5 as Range<UInt64>)
    func latencies(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let long = ScenarioLatency.longTailed(median: .microseconds(8), most: .microseconds(50))
        var longest: UInt64 = 0
        var quick = 0
        for _ in 0..<4000 {
            #expect(ScenarioLatency.fixed(.nanoseconds(7)).draw(&random) == 7)
            #expect((3...9).contains(ScenarioLatency.uniform(.nanoseconds(9), .nanoseconds(3)).draw(&random)))
            let drawn = long.draw(&random)
            longest = max(longest, drawn)
            if drawn <= 8000 { quick += 1 }
        }
        #expect((30_000...50_000).contains(longest), "seed \(seed)")
        #expect((1800...2200).contains(quick), "seed \(seed)")
    }

    @Test("A first-in-first-out queue gives back in order", arguments: 1...9)
    func fifo(batch: Int) {
        var queue = FirstInFirstOut<Int>()
        var taken: [Int] = []
        for index in 0..<100 {
            queue.append(index)
            if index % batch == 0 { for _ in 0..<batch { if let next = queue.takeFirst() { taken.append(next) } } }
        }
        while let next = queue.takeFirst() { taken.append(next) }
        #expect(taken == Array(0..<100))
        #expect(queue.isEmpty)
    }
}
