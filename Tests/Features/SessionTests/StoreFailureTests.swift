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

/// A store that fails, and the session's behavior if it may continue without it.
@MainActor @Suite struct StoreFailureTests {
    @Test func `an unreadable store throws, or the session continues in memory with an alarm`() async throws {
        let world = VirtualWorld(seed: 1)
        let store = MemoryStore()
        store.close()
        await #expect(throws: StorageError.self) {
            _ = try await world.opened(world.transport(watch), incarnation: 2, store: store)
        }
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store) {
            $0.storeFailure = .continueInMemory
        }
        #expect(there.durability == .memory)
        #expect(there.source != SessionSource(peerID: "watch", incarnation: 2), "the store may know that name")
        #expect((there.storeError as? StorageError)?.code == .closed)
        here.start()
        there.start()
        try there.submit(.add(3), at: world.now)
        await world.settle(until: { here.state.total == 3 })
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a store that fails midway is no longer used; opened again, it loses and doubles nothing`(
        seed: UInt64
    ) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let store = FailingStore()
        let here = world.session(world.transport(phone), incarnation: 1)
        let configure: (inout CounterConfiguration) -> Void = {
            $0.storeFailure = .continueInMemory
        }
        var there = try await world.opened(
            world.transport(watch), incarnation: 2, store: store, configure: configure)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...5 { try there.submit(.add(tap), at: world.now) }
        await world.settle(until: { here.confirmedCount == 5 && there.confirmedCount == 5 })

        store.isFailing.withLock { $0 = true }
        for tap in 6...10 {
            try there.submit(.add(tap), at: world.now)
            try here.submit(.add(-tap), at: world.now)
        }
        await world.settle(until: { there.storeError != nil })
        #expect(there.durability == .memory, "seed \(seed)")
        #expect(there.source != SessionSource(peerID: "watch", incarnation: 2), "seed \(seed)")
        await world.settle(until: { here.state.amounts.count == 15 && here.state == there.state })

        // The watch is opened again, without a store.
        store.isFailing.withLock { $0 = false }
        there.stop()
        there = try await world.opened(world.transport(watch), incarnation: 3, configure: configure)
        #expect(there.state.amounts.count < 15, "seed \(seed)")
        there.start()
        try there.submit(.add(100), at: world.now)
        await world.settle(until: { here.state.amounts.count == 16 && here.state == there.state })
        #expect(Set(here.state.amounts).count == 16, "seed \(seed): \(here.state.amounts)")
        #expect(there.storeError == nil, "seed \(seed)")
    }

    @Test func `a session that may continue in memory waits for a store that is only unavailable`() async throws {
        let world = VirtualWorld(seed: 1)
        let store = FailingStore()
        store.code.withLock { $0 = .unavailable }
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store) {
            $0.storeFailure = .continueInMemory
        }
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        // The app is in the background, and has suspended its store.
        store.isFailing.withLock { $0 = true }
        try there.submit(.add(1), at: world.now)
        await world.settle(until: { there.storeError != nil })
        store.isFailing.withLock { $0 = false }
        await world.settle(until: { here.state.total == 1 && there.storeError == nil })
        #expect(there.source == SessionSource(peerID: "watch", incarnation: 2))
        there.stop()
        let again = try await world.opened(world.transport(watch), incarnation: 2, store: store)
        #expect(again.state.amounts == [1])
    }

    @Test func `A session that opens reads what an earlier one over its store is still writing`() async throws {
        let world = VirtualWorld(seed: 2)
        let store = HeldStore()
        let earlier = try await world.opened(world.transport(watch), incarnation: 2, store: store)
        earlier.start()
        await world.settle()
        store.holds.withLock { $0 = true }
        try earlier.submit(.add(1), at: world.now)
        await world.settle(until: { store.isHeld.withLock { $0 } })
        earlier.stop()
        let opening = Task { try await world.opened(world.transport(watch), incarnation: 2, store: store) }
        for _ in 0..<1000 { await Task.yield() }
        store.holds.withLock { $0 = false }
        #expect(try await opening.value.state.amounts == [1])
    }
}
