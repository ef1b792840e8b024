import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTimerAnchor
import MeshTransport
import Testing

/// Two devices whose clocks differ show the same time, within the error that the session reports.
@MainActor @Suite struct ClockTests {
    @Test(arguments: [-3_600.0, -240, -0.5, 0.5, 240, 3_600])
    func `two sessions with different clocks show the same elapsed time`(ahead: TimeInterval) async throws {
        for seed in 0..<3 as Range<UInt64> {
            let world = VirtualWorld(
                seed: seed, conditions: ScenarioConditions(latency: .uniform(.milliseconds(5), .milliseconds(300))))
            let (here, there) = await world.pair(clockAhead: ahead)
            await world.settle(until: { there.clock.errorSeconds != nil })
            // Either device sets the anchor, by the session's clock.
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

    @Test func `alone, a session uses the device's clock`() async throws {
        let world = VirtualWorld(seed: 1)
        let here = world.session(world.transport(phone), clockAhead: 77)
        here.start()
        #expect(here.clock.isLocal)
        #expect(here.now == world.now.addingTimeInterval(77))
    }

    @Test(arguments: [-3_600.0, 3_600], ["phone", "watch"])
    func `setting a clock moves no running timer`(jump: TimeInterval, setter: String) async throws {
        let world = VirtualWorld(
            seed: 1, conditions: ScenarioConditions(latency: .uniform(.milliseconds(5), .milliseconds(300))))
        let clocks = world.clocks()
        let here = world.session(world.transport(phone), incarnation: 1) { $0.now = clocks.phone.now }
        let there = world.session(world.transport(watch), incarnation: 2) { $0.now = clocks.watch.now }
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.clock.errorSeconds != nil })
        let began = world.now
        var anchor = SessionTimerAnchor.start(at: there.now)
        let errorThen = try #require(there.clock.errorSeconds)
        await world.run(.seconds(2))
        (setter == "phone" ? clocks.phone : clocks.watch).set(by: jump)
        let tapped = SessionTimerAnchor.start(at: there.now)
        let tappedAt = world.now
        for _ in 0..<20 {
            for session in [here, there] {
                for (anchor, began) in [(anchor, began), (tapped, tappedAt)] {
                    let shown = session.reading(of: anchor)
                    let error = try #require(shown.errorSeconds)
                    #expect(error < 0.31)
                    #expect(abs(shown.elapsed - world.now.timeIntervalSince(began)) <= error + errorThen + 1e-5)
                }
                #expect(session.status(of: session === here ? "watch" : "phone")?.isActive == true)
            }
            await world.run(.seconds(1))
        }
        let wall = clocks.phone.now()
        // A moment can be shown as a time of day.
        #expect(abs(here.clock.local(here.now).timeIntervalSince(wall)) < 1e-5)
        #expect(abs(here.clock.moment(atLocal: wall).timeIntervalSince(here.now)) < 1e-5)
        anchor.pause(at: here.now)
        #expect(abs(anchor.elapsed(at: .distantFuture) - world.now.timeIntervalSince(began)) <= errorThen + 1e-5)
    }

    @Test(arguments: [-3_600.0, 0, 3_600], [Duration.zero, .seconds(10)])
    func `after a relaunch the wall clock is used, and the error is unknown`(jump: TimeInterval, waits: Duration)
        async throws
    {
        let world = VirtualWorld(seed: 2)
        let clock = world.clocks().phone
        let store = MemoryStore()
        let earlier = try await world.opened(world.transport(phone), store: store) {
            $0.now = clock.now
        }
        earlier.start()
        let anchor = SessionTimerAnchor.start(at: earlier.now)
        try earlier.submit(.add(1))
        await world.run(waits)
        #expect(earlier.reading(of: anchor).errorSeconds == 0)
        try await earlier.close()
        clock.set(by: jump)
        let later = try await world.opened(world.transport(phone), store: store) {
            $0.now = clock.now
        }
        let shown = later.reading(of: anchor)
        let expected = max(0, clock.now().timeIntervalSince(anchor.startedAt))
        #expect(shown.errorSeconds == nil)
        #expect(abs(shown.elapsed - expected) < 1e-5)
        await world.run(.seconds(4_000))
        #expect(later.reading(of: anchor).errorSeconds == nil, "also once the clock is at that time again")
        #expect(later.reading(of: .start(at: later.now)).errorSeconds == 0)
    }

    @Test func `before it is in a group, a device doesn't know the error of another device's timer`() async throws {
        let world = VirtualWorld(seed: 4)
        let here = world.session(world.transport(phone), incarnation: 1, clockAhead: 3_600)
        let there = world.session(world.transport(watch), incarnation: 2) { $0.waitsForInvitation = true }
        here.start()
        there.start()
        let anchor = SessionTimerAnchor.start(at: here.now)
        await world.settle(until: { there.peers.contains { $0.lastHeardAt != nil } })
        #expect(there.peers.contains { $0.lastHeardAt != nil } && !there.isMember)
        #expect(there.reading(of: anchor).errorSeconds == nil)
    }

    @Test(arguments: [-3_600.0, -1, 1, 3_600])
    func `a peer whose clock was set at its relaunch is measured anew`(jump: TimeInterval) async throws {
        let world = VirtualWorld(
            seed: 3, conditions: ScenarioConditions(latency: .uniform(.milliseconds(5), .milliseconds(300))))
        let (store, clocks) = (MemoryStore(), world.clocks())
        func launch() async throws -> CounterSession {
            let session = try await world.opened(world.transport(phone), incarnation: 1, store: store) {
                $0.now = clocks.phone.now
            }
            session.start()
            return session
        }
        let earlier = try await launch()
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle(until: { earlier.isMember && there.clock.errorSeconds != nil })
        let anchor = SessionTimerAnchor.start(at: there.now)
        #expect(there.reading(of: anchor).errorSeconds != nil)
        try await earlier.close()
        await world.run(.seconds(5))
        clocks.phone.set(by: jump)
        let later = try await launch()
        await world.settle(until: { there.reading(of: anchor).errorSeconds == nil })
        #expect(there.reading(of: anchor).errorSeconds == nil, "it may be off by \(jump) seconds")
        let (error, difference) = (try #require(there.clock.errorSeconds), there.now.timeIntervalSince(later.now))
        #expect(abs(difference) <= error + 1e-5)
        // A clock that was set back repeats moments that it has shown before.
        await world.run(.seconds(max(0, -jump) + 1))
        let tapped = SessionTimerAnchor.start(at: later.now)
        await world.run(.seconds(10))
        let (shown, elsewhere) = (later.reading(of: tapped), there.reading(of: tapped))
        #expect(shown.errorSeconds == 0)
        #expect(there.reading(of: anchor).errorSeconds == nil)
        #expect(abs(shown.elapsed - elsewhere.elapsed) <= (try #require(elsewhere.errorSeconds)) + 1e-5)
    }
}

/// The wall clocks of two devices, which a test can set.
struct WallClocks {
    let phone: WallClock
    let watch: WallClock
}

final class WallClock: Sendable {
    private let network: ScenarioNetwork
    private let ahead = Locked(0.0)

    init(_ network: ScenarioNetwork) { self.network = network }

    var now: @Sendable () -> Date { { [self] in network.now.addingTimeInterval(ahead.withLock { $0 }) } }

    func set(by seconds: TimeInterval) { ahead.withLock { $0 += seconds } }
}

extension VirtualWorld {
    func clocks() -> WallClocks { WallClocks(phone: WallClock(network), watch: WallClock(network)) }
}
