import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import MeshStorage
import Testing

@testable import MeshRequests

/// A ledger whose store fails for a while. Requests whose arrival was acknowledged must still run, once.
@Suite struct StoreFailureTests {
    private func world(_ seed: UInt64, _ store: FailingStore) async throws -> (World, here: Device, there: Device) {
        let world = World(seed: seed)
        let here = try world.device(phone)
        let there = try world.device(watch, store: store)
        await world.meet(here, there)
        return (world, here, there)
    }

    @Test func `A kept request that can't be written at once runs later, in order and once`() async throws {
        let store = FailingStore()
        let (world, here, there) = try await world(91, store)
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        store.fails = true
        for line in 0..<3 {
            try await world.finish { await here.requests.send(Log(line: line), strategy: .queueOnly) }
        }
        await world.run(for: .seconds(2))
        #expect(done.all.isEmpty, "an unwritten request must not run")
        store.fails = false
        await world.run { done.all.count >= 3 }
        await world.run(for: .seconds(10))
        #expect(done.all == [0, 1, 2])
    }

    @Test(arguments: [DeliveryStrategy.queueOnly, .liveOnly])
    func `A request that can't be begun is begun when the store works again`(strategy: DeliveryStrategy) async throws {
        let store = FailingStore()
        let (world, here, there) = try await world(92, store)
        let done = Done()
        try await world.finish { await here.requests.send(Log(line: 1), strategy: strategy) }
        await world.run { there.events.all.contains(.messageReceived(requestType: Log.requestType)) }
        store.fails = true
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        await world.run(for: .seconds(1))
        #expect(done.all.isEmpty)
        store.fails = false
        await world.run(for: .seconds(10))
        #expect(done.all == [1])
    }

    @Test func `Requests of an earlier process are read when the store works again`() async throws {
        let store = FailingStore()
        let (world, here, there) = try await world(93, store)
        try await world.finish { await here.requests.send(Log(line: 1), strategy: .queueOnly) }
        await world.run { there.events.all.contains(.messageReceived(requestType: Log.requestType)) }
        world.network.crash(watch)
        store.fails = true
        let done = Done()
        let second = try world.device(watch, store: store)
        second.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        await world.run(for: .seconds(1))
        store.fails = false
        await world.run(for: .seconds(5))
        #expect(done.all == [1])
        withExtendedLifetime(there) {}
    }

    /// The store can't be read for longer than the responder waits at its launch.
    @Test func `Requests of an earlier process run even if the store can't be read for long`() async throws {
        let store = FailingStore()
        let (world, here, there) = try await world(95, store)
        try await world.finish { await here.requests.send(Log(line: 1), strategy: .queueOnly) }
        await world.run { there.events.all.contains(.messageReceived(requestType: Log.requestType)) }
        world.network.crash(watch)
        store.fails = true
        let done = Done()
        let second = try world.device(watch, store: store)
        second.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        await world.run(for: .seconds(10))
        store.fails = false
        await world.run(for: .seconds(10))
        #expect(done.all == [1])
        withExtendedLifetime(there) {}
    }

    /// The earlier process has handled the request, and its answer was lost. Another request of it waits.
    @Test(arguments: [false, true])
    func `A second copy doesn't run while the store can't be read`(comesEarly: Bool) async throws {
        let store = FailingStore()
        let (world, here, first) = try await world(96, store)
        let done = Done()
        first.requests.register(Add.self) {
            done.note($0.left)
            return $0.left + $0.right
        }
        world.network.partition(from: watch, to: phone)
        let pending = Pending {
            try await here.requests.send(Add(left: 2, right: 3), strategy: .liveOnly, retryPolicy: .patient)
        }
        await world.run { done.all == [2] }
        try await world.finish { await here.requests.send(Log(line: 9), strategy: .queueOnly) }
        await world.run { first.events.all.contains(.messageReceived(requestType: Log.requestType)) }
        world.network.crash(watch)
        store.fails = true
        let second = try world.device(watch, store: store)
        second.requests.register(Add.self) {
            done.note($0.left)
            return $0.left + $0.right
        }
        second.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        if comesEarly { world.network.heal() }
        await world.run(for: .seconds(5))
        store.fails = false
        world.network.heal()
        if comesEarly {
            await #expect(throws: ConnectionError.self) { try await world.finish(pending) }
        } else {
            #expect(try await world.finish(pending) == 5)
        }
        await world.run(for: .seconds(10))
        #expect(done.all == [2, 9])
        withExtendedLifetime(first) {}
    }

    @Test func `A store that keeps failing delays requests once, and each lost one is reported`() async throws {
        let store = FailingStore()
        let (world, here, there) = try await world(94, store)
        let done = Done()
        there.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        store.fails = true
        for line in 0..<20 {
            try await world.finish { await here.requests.send(Log(line: line), strategy: .queueOnly) }
        }
        func isLoss(_ event: DiagnosticEvent) -> Bool {
            if case .deliveryFailed(Log.requestType, _, willRetry: false) = event { true } else { false }
        }
        await world.run(within: .seconds(10)) { there.events.all.filter(isLoss).count == 20 }
        store.fails = false
        try await world.finish { await here.requests.send(Log(line: 20), strategy: .queueOnly) }
        await world.run { !done.all.isEmpty }
        #expect(done.all == [20])
    }
}

/// An in-memory store that neither reads nor writes while `fails` is true.
private final class FailingStore: SessionStore {
    private let base = MemoryStore()
    private let isFailing = Locked(false)

    var fails: Bool {
        get { isFailing.withLock { $0 } }
        set { isFailing.withLock { $0 = newValue } }
    }

    private func check() throws { if fails { throw StorageError(.unavailable, "not now") } }

    var durability: StoreDurability { .memory }
    func commit(_ batch: StoreBatch) throws {
        try check()
        try base.commit(batch)
    }
    func value(for key: String) throws -> [UInt8]? {
        try check()
        return try base.value(for: key)
    }
    func catalog(prefix: String) throws -> StoreCatalog {
        try check()
        return try base.catalog(prefix: prefix)
    }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try check()
        return try base.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}
