import Foundation
import MeshBus
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

/// Side effects: once for each event, when its place is final.
@MainActor @Suite struct EffectTests {
    @MainActor final class Log {
        var ids: [UUID] = []
        var amounts: [Int] = []
        var failures = 0
        /// Runs before the effect; what it throws, the effect throws.
        var before: (Tap) throws -> Void = { _ in }

        nonisolated init() {}

        func run(_ event: SessionConfirmedEvent<Tap>) throws {
            try before(event.envelope.payload)
            ids.append(event.envelope.metadata.eventID)
            if case .add(let amount) = event.envelope.payload { amounts.append(amount) }
        }
    }

    private struct Failure: Error {}

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `each confirmed event runs its effect once, in one order on both sides`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (mine, theirs) = (Log(), Log())
        let here = world.session(world.transport(phone), incarnation: 1) {
            $0.onConfirmed = { try mine.run($0) }
        }
        let there = world.session(world.transport(watch), incarnation: 2) {
            $0.onConfirmed = { try theirs.run($0) }
        }
        here.start()
        there.start()
        for tap in 1...20 {
            try here.submit(.add(tap), at: world.now)
            try there.submit(.add(-tap), at: world.now)
            await world.run(.milliseconds(40))
        }
        await world.settle(until: { mine.ids.count >= 40 && theirs.ids.count >= 40 })
        await world.settle()
        #expect(mine.amounts == theirs.amounts, "seed \(seed)")
        #expect(Set(mine.ids).count == 40 && mine.ids.count == 40, "seed \(seed)")
        #expect(mine.amounts == here.state.amounts, "seed \(seed)")
        #expect(here.statistics.effects == 40, "seed \(seed)")
    }

    @Test func `an effect that throws runs again, and later ones wait for it`() async throws {
        let world = VirtualWorld(seed: 1)
        let log = Log()
        log.before = { tap in
            guard tap == .add(2), log.failures < 3 else { return }
            log.failures += 1
            throw Failure()
        }
        let here = world.session(world.transport(phone), incarnation: 1) { $0.onConfirmed = { try log.run($0) } }
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        for tap in 1...4 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { here.statistics.effects == 4 })
        #expect(here.statistics.effectFailures == 3)
        #expect(log.amounts == [1, 2, 3, 4])
        #expect(there.statistics.effects == 0, "it has none")
    }

    @Test func `what was not marked before a crash runs after the relaunch; what was marked does not`() async throws {
        let world = VirtualWorld(seed: 2)
        let store = CounterStore()
        let log = Log()
        // The process dies within the third effect: it has run, and nobody was told.
        log.before = { if $0 == .add(3) { throw Failure() } }
        let configure: (inout CounterConfiguration) -> Void = {
            $0.store = store
            $0.onConfirmed = { try log.run($0) }
        }
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = world.session(world.transport(watch), incarnation: 2, configure: configure)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...5 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { there.statistics.effectFailures > 0 })
        await world.settle()
        #expect(log.amounts == [1, 2])
        there.stop()
        log.before = { _ in }
        let again = try await CounterSession.open(
            sessionID: sessionID, featureID: "counter", transport: world.transport(watch), initialState: Counter(),
            reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            configuration: world.configuration(incarnation: 2, configure))
        again.start()
        await world.settle(until: { log.amounts.count >= 5 })
        await world.settle()
        #expect(log.amounts == [1, 2, 3, 4, 5])
        #expect(Set(log.ids).count == 5)
        #expect(store.load()?.head.sideEffectsDue.isEmpty == true)
    }

    @Test func `a newcomer runs no effects for what was confirmed before it came`() async throws {
        let world = VirtualWorld(seed: 3)
        let (here, there) = await world.pair()
        for tap in 1...3 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { here.confirmedCount == 3 && there.confirmedCount == 3 })
        there.stop()
        let log = Log()
        let again = world.session(world.transport(watch), incarnation: 3) { $0.onConfirmed = { try log.run($0) } }
        again.start()
        await world.settle(until: { again.isMember && again.state.total == 6 })
        try here.submit(.add(4), at: world.now)
        await world.settle(until: { log.amounts == [4] })
    }
}
