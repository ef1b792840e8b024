import Foundation
import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@Suite struct ScenarioClockTests {
    @Test func `Timers and deliveries happen in one order, on the thread that moves time`() throws {
        let network = ScenarioNetwork(seed: 1, conditions: ScenarioConditions(latency: .fixed(.milliseconds(10))))
        let (a, b) = (Witness("a", on: network), Witness("b", on: network))
        network.runUntilIdle()
        let clock = network.clock(of: a.peer)
        let seen = Locked<[(Duration, Int)]>([])
        for milliseconds in [5, 15, 10, 40] {
            clock.wake(at: clock.elapsed + .milliseconds(milliseconds)) {
                seen.withLock { $0.append((clock.elapsed, b.packets().count)) }
            }
        }
        try a.send([1], to: b)
        #expect(seen.withLock { $0.isEmpty }, "never from within the call")
        #expect(network.advance(by: .milliseconds(20)) == 1, "a timer is no delivery")
        #expect(seen.withLock { $0.map(\.0) } == [.milliseconds(15), .milliseconds(20), .milliseconds(25)])
        #expect(seen.withLock { $0.map(\.1) } == [0, 0, 1], "of two at one time, the one entered first")
        #expect(network.pendingCount == 0)
        #expect(network.runUntilIdle() == 0, "a timer alone does not keep the network busy")
        #expect(network.elapsed == .milliseconds(30))
        network.advance(by: .milliseconds(20))
        #expect(seen.withLock { $0.count } == 4)
    }

    @Test func `A timer that sets itself again runs as often as time allows`() {
        let network = ScenarioNetwork(seed: 1)
        let clock = network.clock
        let count = Locked(0)
        @Sendable func beat() {
            count.withLock { $0 += 1 }
            clock.wake(at: clock.elapsed + .seconds(5), beat)
        }
        clock.wake(at: .seconds(-3), beat)
        network.advance(by: .seconds(60))
        #expect(count.withLock { $0 } == 13)
        #expect(network.runUntilIdle() == 0)
    }

    @Test func `A peer's wall clock may be wrong and jump without affecting traffic`() {
        let network = ScenarioNetwork(seed: 1)
        let phone = SessionPeer(id: "a", deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
        let watch = SessionPeer(id: "b", deviceClass: .watch, appInstanceID: "1", topology: .sameHost)
        network.setClockOffset(.seconds(-90), of: watch)
        network.advance(by: .seconds(10))
        #expect(network.clock(of: watch).wall == network.start.addingTimeInterval(-80))
        #expect(network.clock(of: phone).wall == network.now)
        network.setClockOffset(.milliseconds(1500), of: watch)
        #expect(network.clock(of: watch).wall == network.now.addingTimeInterval(1.5))
        #expect(network.clock(of: watch).elapsed == .seconds(10))
    }
}
