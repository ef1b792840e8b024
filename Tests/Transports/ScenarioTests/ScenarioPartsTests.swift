import MeshBase
import MeshDelivery
import Testing

@testable import MeshScenarioTransport

@Suite struct ScenarioPartsTests {
    @Test("Latencies stay within their case's range", arguments: 0..<5 as Range<UInt64>)
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
}
