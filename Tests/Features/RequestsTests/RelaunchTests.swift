import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshRequests

/// State that a process leaves to the next one.
@Suite struct RelaunchTests {
    @Test func `An interrupted request is not run again, and its caller gets an error`() async throws {
        let world = World(seed: 61)
        let store = MemoryStore()
        let here = try world.device(phone)
        let first = try world.device(watch, store: MortalStore(store))
        await world.meet(here, first)
        let done = Done()
        let never = AsyncValue<Bool>()
        first.requests.register(Add.self) {
            done.note($0.left)
            _ = await never.value()
            return 0
        }
        let pending = Pending {
            try await here.requests.send(Add(left: 1, right: 1), strategy: .liveOnly, retryPolicy: .patient)
        }
        await world.run { done.all == [1] }
        world.network.crash(watch)
        let second = try world.device(watch, store: store)
        second.requests.register(Add.self) {
            done.note($0.left)
            return 2
        }
        await #expect(throws: ConnectionError.remoteError(description: "the app ended while it handled the request")) {
            _ = try await world.finish(pending)
        }
        #expect(done.all == [1])
        never.resolve(true)
        withExtendedLifetime(first) {}
    }

    /// The only copy has arrived, and no other follows. The next process doesn't know any peer when it starts.
    @Test(arguments: [false, true])
    func `W6 replies left by an earlier process are sent once the peer is present`(hasEnded: Bool) async throws {
        let world = World(seed: 66)
        let store = MemoryStore()
        let mortal = MortalStore(store)
        let here = try world.device(phone)
        let first = try world.device(watch, store: mortal)
        await world.meet(here, first)
        let (began, mayEnd) = (AsyncValue<Bool>(), AsyncValue<Bool>())
        first.requests.register(Add.self) {
            began.resolve(true)
            _ = await mayEnd.value()
            return $0.left + $0.right
        }
        let pending = Pending {
            try await here.requests.send(Add(left: 1, right: 1), strategy: .queueOnly, retryPolicy: .patient)
        }
        await world.run { began.isResolved }
        await world.run(for: .seconds(1))
        world.network.partition([phone], [watch])
        if hasEnded {
            mayEnd.resolve(true)
            await world.run(for: .seconds(1))
        }
        mortal.die()
        world.network.crash(watch)
        let second = try world.device(watch, store: store)
        await world.run(for: .seconds(1))
        world.network.heal()
        if hasEnded {
            #expect(try await world.finish(pending) == 2)
        } else {
            await #expect(
                throws: ConnectionError.remoteError(description: "the app ended while it handled the request")
            ) { _ = try await world.finish(pending) }
        }
        mayEnd.resolve(true)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `Requests accepted but not started run in the next process, in order`() async throws {
        let world = World(seed: 62)
        let (store, transportStore) = (MemoryStore(), MemoryStore())
        let mortal = MortalStore(store)
        let here = try world.device(phone)
        let first = try world.device(watch, store: mortal, transportStore: transportStore)
        await world.meet(here, first)
        let done = Done()
        let never = AsyncValue<Bool>()
        first.requests.register(Log.self) {
            done.note($0.line)
            _ = await never.value()
            return VoidResponse()
        }
        for line in 0..<5 {
            try await world.finish { await here.requests.send(Log(line: line), strategy: .queueOnly) }
        }
        await world.run { first.events.all.count { $0 == .messageReceived(requestType: "Log") } == 5 }
        mortal.die()
        world.network.crash(watch)
        let second = try world.device(watch, store: store, transportStore: transportStore)
        second.requests.register(Log.self) {
            done.note($0.line)
            return VoidResponse()
        }
        await world.run { done.all.count == 5 }
        await world.run(for: .seconds(5))
        // The first request had started before the process ended.
        #expect(done.all == [0, 1, 2, 3, 4])
        never.resolve(true)
        withExtendedLifetime(first) {}
    }

    @Test func `W4 a second copy gets the earlier process's reply`() async throws {
        let world = World(seed: 63)
        let store = MemoryStore()
        let here = try world.device(phone)
        let first = try world.device(watch, store: store)
        await world.meet(here, first)
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
        await world.run(for: .seconds(1))
        world.network.crash(watch)
        let second = try world.device(watch, store: store)
        world.network.heal()
        #expect(try await world.finish(pending) == 5)
        #expect(done.all == [2])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `W6 a reply to a relaunched requester is reported and dropped`() async throws {
        let world = World(seed: 64)
        let here = try world.device(phone, transportStore: MemoryStore())
        let there = try world.device(watch)
        await world.meet(here, there)
        let mayEnd = AsyncValue<Bool>()
        there.requests.register(Add.self) { _ in
            _ = await mayEnd.value()
            return 1
        }
        let lost = Pending { try await here.requests.send(Add(left: 1, right: 0)) }
        await world.run { there.events.all.contains(.messageReceived(requestType: "Add")) }
        world.network.crash(phone)
        let again = try world.device(phone)
        await world.meet(again)
        mayEnd.resolve(true)
        await world.run { again.requests.ignoredReplyCount == 1 }
        lost.task.cancel()
        #expect(try await world.finish { try await again.requests.send(Add(left: 1, right: 0)) } == 1)
    }

    @Test func `Nothing runs while the store rejects writes`() async throws {
        let world = World(seed: 65)
        let store = MortalStore(MemoryStore())
        let here = try world.device(phone)
        let there = try world.device(watch, store: store)
        await world.meet(here, there)
        let done = Done()
        there.requests.register(Add.self) {
            done.note($0.left)
            return 0
        }
        store.die()
        for strategy in [DeliveryStrategy.liveOnly, .queueOnly] {
            do {
                _ = try await world.finish { try await here.requests.send(Add(left: 1, right: 0), strategy: strategy) }
                Issue.record("answered")
            } catch ConnectionError.remoteError {
            }
        }
        #expect(done.all.isEmpty)
    }

    /// A write after a process's end would change the store of the next process. All writes of that one would then fail.
    @Test func `A process that ends during a write finishes the write first`() throws {
        let memory = MemoryStore()
        let (mortal, isEnded, endedEarly) = (Locked<MortalStore?>(nil), DispatchSemaphore(value: 0), Locked(false))
        let store = MortalStore(
            InterruptedStore(memory) {
                DispatchQueue.global().async {
                    mortal.withLock { $0 }?.die()
                    isEnded.signal()
                }
                let hasEnded = isEnded.wait(timeout: .now() + .milliseconds(50)) == .success
                endedEarly.withLock { $0 = hasEnded }
            })
        mortal.withLock { $0 = store }
        var batch = StoreBatch()
        batch.set([1], for: "last")
        try store.commit(batch)
        #expect(!endedEarly.withLock { $0 })
        isEnded.wait()
        #expect(throws: StorageError.self) { try store.commit(batch) }
    }
}

/// A store whose process may end. From then on it rejects every write. As with a real process, a write in progress completes
/// first: a later write would change the store of the next process.
final class MortalStore: SessionStore {
    private let wrapped: any SessionStore
    private let death = Locked(false)

    init(_ wrapped: any SessionStore) { self.wrapped = wrapped }

    var isDead: Bool { death.withLock { $0 } }
    func die() { death.withLock { $0 = true } }

    var durability: StoreDurability { .memory }

    func commit(_ batch: StoreBatch) throws {
        try death.withLock { isDead in
            if isDead { throw StorageError(.closed, "the process has ended") }
            try wrapped.commit(batch)
        }
    }

    func value(for key: String) throws -> [UInt8]? { try wrapped.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try wrapped.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try wrapped.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}

/// Calls a body in the middle of each commit.
private final class InterruptedStore: SessionStore {
    private let wrapped: MemoryStore
    private let body: @Sendable () -> Void

    init(_ wrapped: MemoryStore, body: @escaping @Sendable () -> Void) {
        self.wrapped = wrapped
        self.body = body
    }

    var durability: StoreDurability { .memory }

    func commit(_ batch: StoreBatch) throws {
        body()
        try wrapped.commit(batch)
    }

    func value(for key: String) throws -> [UInt8]? { try wrapped.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try wrapped.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try wrapped.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}
