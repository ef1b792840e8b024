import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTimerAnchor
import MeshTransport
import Testing

/// Two devices whose clocks differ show the same time, to within what the session says.
@MainActor @Suite struct ClockTests {
    @Test(arguments: [-3_600.0, -240, -0.5, 0.5, 240, 3_600])
    func `two sessions whose clocks differ show the same elapsed time`(ahead: TimeInterval) async throws {
        for seed in 0..<3 as Range<UInt64> {
            let world = VirtualWorld(
                seed: seed, conditions: ScenarioConditions(latency: .uniform(.milliseconds(5), .milliseconds(300))))
            let (here, there) = await world.pair(clockAhead: ahead)
            await world.settle(until: { there.clock.errorSeconds != nil })
            // Whichever device sets the anchor, by the session's clock.
            for setter in [here, there] {
                var anchor = SessionTimerAnchor.start(at: setter.now)
                await world.run(.seconds(10))
                let (shown, elsewhere) = (here.reading(of: anchor), there.reading(of: anchor))
                let error = try #require(elsewhere.errorSeconds)
                #expect(abs(shown.elapsed - elsewhere.elapsed) <= error + 1e-6, "seed \(seed)")
                #expect(abs(shown.elapsed - 10) <= error + 0.02, "seed \(seed)")
                #expect(error <= 0.31, "seed \(seed): half a round trip")
                #expect(shown.errorSeconds == 0)
                anchor.pause(at: setter.now)
                #expect(here.reading(of: anchor).elapsed == there.reading(of: anchor).elapsed)
            }
        }
    }

    @Test func `the estimate follows a clock that was set`() async throws {
        let world = VirtualWorld(seed: 1)
        let (here, there) = await world.pair(clockAhead: 30)
        await world.settle(until: { here.clock.isLocal && there.clock.errorSeconds != nil })
        #expect(there.clock.peerID == "phone")
        let offset = try #require(here.status(of: "watch")?.clockOffset)
        #expect(abs(offset.offsetSeconds - 30) <= offset.errorSeconds + 1e-6)
    }

    @Test func `alone the session's clock is the device's`() async throws {
        let world = VirtualWorld(seed: 1)
        let here = world.session(world.transport(phone), clockAhead: 77)
        here.start()
        #expect(here.clock.isLocal)
        #expect(here.now == world.now.addingTimeInterval(77))
    }
}
