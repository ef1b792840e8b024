import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

/// Counts the bytes and the number of writes.
private final class CountingStore: StoreWrapper {
    let wrapped: any SessionStore = MemoryStore()
    let written = Locked((bytes: 0, writes: 0))

    func commit(_ batch: StoreBatch) throws {
        try wrapped.commit(batch)
        written.withLock { $0 = ($0.bytes + batch.byteCount, $0.writes + 1) }
    }
}

/// Side effects: one for each event, when its place is final.
@MainActor @Suite struct EffectTests {
    @MainActor final class Log {
        var ids: [UUID] = []
        var amounts: [Int] = []
        var failures = 0
        /// Runs before the effect. The effect throws the error that this throws.
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

    @Test func `a throwing effect runs again, and later ones wait for it`() async throws {
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

    @Test func `After a crash and relaunch only unmarked side effects run again`() async throws {
        let world = VirtualWorld(seed: 2)
        let store = MemoryStore()
        let log = Log()
        // The process dies within the third effect: the effect has run, and this wasn't recorded.
        log.before = { if $0 == .add(3) { throw Failure() } }
        let configure: (inout CounterConfiguration) -> Void = {
            $0.onConfirmed = { try log.run($0) }
        }
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store, configure: configure)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...5 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { there.statistics.effectFailures > 0 })
        await world.settle()
        #expect(log.amounts == [1, 2])
        there.stop()
        log.before = { _ in }
        let again = try await world.opened(world.transport(watch), incarnation: 2, store: store, configure: configure)
        again.start()
        await world.settle(until: { log.amounts.count >= 5 })
        await world.settle()
        #expect(log.amounts == [1, 2, 3, 4, 5])
        #expect(Set(log.ids).count == 5)
        var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        #expect(try archive.load()?.head.sideEffectsDue.isEmpty == true)
    }

    @Test func `An effect that was due when the device rejoined is marked, and doesn't run again`() async throws {
        let world = VirtualWorld(seed: 6)
        world.network.provePeers()
        let store = MemoryStore()
        let log = Log()
        let peers = [phone, tablet, watch]
        let configure: (inout CounterConfiguration) -> Void = {
            $0.members = peers.enumerated().map { SessionSource(peerID: $1.id, incarnation: UInt32($0 + 1)) }
            $0.memberTimeout = .seconds(30)
        }
        let watched: (inout CounterConfiguration) -> Void = {
            configure(&$0)
            $0.onConfirmed = { try log.run($0) }
        }
        var others = [phone, tablet].enumerated().map { index, peer in
            world.session(world.transport(peer), incarnation: UInt32(index + 1), configure: configure)
        }
        let there = try await world.opened(world.transport(watch), incarnation: 3, store: store, configure: watched)
        for session in others + [there] { session.start() }
        await world.meet()
        // The watch has no connection to what its effect needs.
        log.before = { _ in throw Failure() }
        try others[0].submit(.add(1), at: world.now)
        await world.settle(until: { there.statistics.effectFailures > 0 && there.confirmedCount == 1 })
        world.network.partition([phone, tablet], [watch])
        for tap in 2...5 { try others[0].submit(.add(tap), at: world.now) }
        await world.settle(until: { others.allSatisfy { $0.confirmedCount == 5 } })
        world.network.heal()
        await world.settle(until: { there.confirmedCount == 5 })
        log.before = { _ in }
        await world.settle(until: { log.amounts == [1] })
        await world.settle()
        there.stop()
        others = []
        var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        #expect(try archive.load()?.head.sideEffectsDue.isEmpty == true)
        let again = try await world.opened(world.transport(watch), incarnation: 3, store: store, configure: watched)
        again.start()
        await world.settle()
        #expect(log.amounts == [1])
    }

    @Test func `close returns once the marks of its effects are in the store`() async throws {
        let world = VirtualWorld(seed: 7)
        let store = HeldStore()
        let log = Log()
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store) {
            $0.onConfirmed = {
                for _ in 0..<50 { await Task.yield() }
                try log.run($0)
            }
        }
        await world.meet()
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...4 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { there.confirmedCount == 4 })
        store.isSlow.withLock { $0 = true }
        let isClosed = Locked(false)
        let closing = Task {
            try await there.close()
            isClosed.withLock { $0 = true }
        }
        await world.settle(until: { isClosed.withLock { $0 } })
        try await closing.value
        #expect(log.amounts == [1, 2, 3, 4])
        var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        #expect(try archive.load()?.head.sideEffectsDue.isEmpty == true)
    }

    @Test func `an effect costs the store the same however many wait`() async throws {
        func bytesWritten(effects: Int) async throws -> (bytes: Int, writes: Int) {
            let world = VirtualWorld(seed: 4)
            let store = CountingStore()
            let log = Log()
            let here = try await world.opened(world.transport(phone), incarnation: 1, store: store) {
                // Yields, so that each mark is written separately.
                $0.onConfirmed = {
                    for _ in 0..<20 { await Task.yield() }
                    try log.run($0)
                }
            }
            let there = world.session(world.transport(watch), incarnation: 2)
            await world.meet()
            here.start()
            there.start()
            await world.settle(until: { here.isMember && there.isMember })
            for tap in 1...effects { try here.submit(.add(tap), at: world.now) }
            await world.settle(until: { log.amounts.count == effects })
            await world.settle()
            #expect(log.amounts == Array(1...effects))
            var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
            #expect(try archive.load()?.head.sideEffectsDue.isEmpty == true)
            return store.written.withLock { $0 }
        }
        let (few, many) = (try await bytesWritten(effects: 200), try await bytesWritten(effects: 800))
        print("effects: 200 wrote \(few.bytes) bytes in \(few.writes) commits, 800 \(many.bytes) in \(many.writes)")
        #expect(many.bytes < 6 * few.bytes, "\(few.bytes) bytes for 200, \(many.bytes) for 800")
        #expect(many.bytes < 800 * 1_000)
    }

    @Test func `pending effects survive crashes while some are marked`() async throws {
        let world = VirtualWorld(seed: 5)
        let store = MemoryStore()
        let log = Log()
        let configure: (inout CounterConfiguration) -> Void = {
            $0.onConfirmed = { try log.run($0) }
        }
        let here = world.session(world.transport(phone), incarnation: 1)
        var there = try await world.opened(world.transport(watch), incarnation: 2, store: store, configure: configure)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...30 { try here.submit(.add(tap), at: world.now) }
        for next in stride(from: 5, through: 30, by: 5) {
            log.before = { if $0 == .add(next + 1) { throw Failure() } }
            await world.settle(until: { log.amounts.last == next })
            await world.settle()
            there.stop()
            var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
            #expect(try archive.load()?.head.sideEffectsDue.count == 30 - next)
            there = try await world.opened(world.transport(watch), incarnation: 2, store: store, configure: configure)
            there.start()
        }
        await world.settle()
        #expect(log.amounts == Array(1...30))
        #expect(Set(log.ids).count == 30)
    }

    @Test func `a newcomer runs no effects for events confirmed before it joined`() async throws {
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
