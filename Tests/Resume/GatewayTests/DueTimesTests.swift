import MeshBase
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// Checking every connection every second would cost more than the events.
@Suite struct DueTimesTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `An entry is taken once when due, as by a full scan`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (dueTimes, all): (DueTimes, [DueTimes.Entry]) = (DueTimes(), [])
        var now = Duration.zero
        for key in 0..<200 {
            let entry = DueTimes.Entry(key: key, due: now + .seconds(20) * random.fraction())
            dueTimes.enter(entry)
            all.append(entry)
            now += .seconds(1) * random.fraction()
            let expected = all.filter { $0.due <= now }
            #expect(dueTimes.take(now) == expected, "seed \(seed), key \(key)")
            all.removeAll { $0.due <= now }
        }
        #expect(dueTimes.take(now + .seconds(20)) == all, "seed \(seed)")
    }

    @Test func `A connection stays open while it sends, and is closed after it stops`() {
        var settings = GatewaySettings()
        settings.heartbeatInterval = .seconds(5)
        settings.identifyTimeout = .seconds(60)
        var core = GatewayCore(settings, seed: 1)
        core.open(1, .zero)
        for second in 1...20 {
            core.receive(Array(#"{"op":1,"d":null}"#.utf8), on: 1, .seconds(second))
            core.tick(.seconds(second))
        }
        for second in 21...29 { core.tick(.seconds(second)) }
        #expect(core.connectionCount == 1)
        core.tick(.seconds(30))
        #expect(core.connectionCount == 0)
    }

    @Test func `A connection that never identifies is closed on time, even if others are served first`() {
        var core = GatewayCore(seed: 1)
        for key in 0..<100 { core.open(key, .milliseconds(key * 10)) }
        core.tick(.milliseconds(10_490))
        #expect(core.connectionCount == 50)
        core.tick(.seconds(11))
        #expect(core.connectionCount == 0)
    }
}
