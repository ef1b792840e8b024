import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// The purpose of a store: both sides may end and return.
@Suite struct DurabilityTests {
    /// Regression: its first place among the recent messages was still counted, and forgot it early.
    @Test func `A message that the store refused and that came again is recognized as long as any other`() {
        let ids = (0...RecentMessages.limit).map { _ in MessageID(featureID: "timer", eventID: UUID()) }
        let refused = ids[0]
        var recent = RecentMessages()
        _ = recent.insert(refused)
        recent.remove(refused)
        let areNew = ids.prefix(RecentMessages.limit).map { recent.insert($0) }
        #expect(areNew.allSatisfy { $0 })
        let comesAgain = recent.insert(refused)
        #expect(!comesAgain)
        _ = recent.insert(ids[RecentMessages.limit])
        let comesAfterAll = recent.insert(refused)
        #expect(comesAfterAll, "it was the oldest")
    }

    @Test func `M16: messages accepted before a peer was known survive a relaunch`() async throws {
        let store = MemoryStore()
        let wire = MemoryWire()
        do {
            let pair = try Pair(wire, leftStore: store)
            for sequence in 1...3 as ClosedRange<UInt64> {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            }
            await pair.left.close()
            await pair.right.close()
        }
        let pair = try Pair(wire, leftStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        wire.connect()
        pair.settle()
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    @Test func `M11: unacknowledged messages survive a relaunch, once and in order`() async throws {
        let stores = (left: MemoryStore(), right: MemoryStore())
        let wire = MemoryWire()
        var received: [UInt64] = []
        for launch in 0..<5 as Range<UInt64> {
            let pair = try Pair(wire, leftStore: stores.left, rightStore: stores.right)
            let log = Log(pair.right.receiveEnvelopes())
            if launch > 0 { #expect(pair.left.knownPeers.map(\.id) == ["right"]) }
            wire.connect()
            if launch > 0 { pair.settle(.milliseconds(1)) } else { pair.settle() }
            for sequence in (launch * 10 + 1)...(launch * 10 + 5) {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
            }
            received += await log.sequences(launch == 0 ? 5 : 10)
            wire.disconnect()
            for sequence in (launch * 10 + 6)...(launch * 10 + 10) {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
            }
            pair.settle(.seconds(1))
            await pair.left.close()
            await pair.right.close()
        }
        #expect(received == Array(1...45))
    }

    @Test func `Acknowledged messages that no subscriber has read are offered again after a relaunch`() async throws {
        let stores = (left: MemoryStore(), right: MemoryStore())
        let wire = MemoryWire()
        do {
            let pair = try Pair(wire, leftStore: stores.left, rightStore: stores.right)
            wire.connect()
            pair.settle()
            for sequence in 1...3 as ClosedRange<UInt64> {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            }
            pair.settle(.seconds(1))
            await pair.left.close()
            await pair.right.close()
        }
        let pair = try Pair(wire, leftStore: stores.left, rightStore: stores.right)
        let log = Log(pair.right.receiveEnvelopes())
        #expect(await log.sequences(3) == [1, 2, 3])
        wire.connect()
        pair.settle()
        try await pair.left.send(envelope(4), mode: .reliableEventually, to: nil)
        #expect(await log.sequences(4) == [1, 2, 3, 4])
    }

    @Test func `Messages that are unread when a transport is abandoned are offered by the next one`() async throws {
        let store = MemoryStore()
        let wire = MemoryWire()
        let pair = try Pair(wire, rightStore: store)
        let subscription = pair.right.receiveEnvelopes()
        wire.connect()
        pair.settle()
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        pair.right.abandon()
        // Its timers may fire once more, and the app may still hold it.
        pair.settle(.seconds(1))
        let log = Log(try Pair(MemoryWire(), rightStore: store).right.receiveEnvelopes())
        #expect(await log.sequences(3) == [1, 2, 3])
        withExtendedLifetime((pair, subscription)) {}
    }

    @Test func `An abandoned transport writes nothing to the store of the next one`() async throws {
        let store = SlowStore()
        let pair = try Pair(leftStore: store)
        let archive = try #require(pair.left.shell.archive)
        store.isSlow = true
        func send(_ sequence: UInt64) -> Task<Void, any Error> {
            Task { try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil) }
        }
        // One message is being written, the other waits for its turn.
        let first = send(1)
        await eventually { store.isWriting }
        let second = send(2)
        await eventually { archive.notedCount >= 2 }
        let written = Locked<Int?>(nil)
        // On a separate thread, because it blocks.
        Thread.detachNewThread {
            pair.left.abandon()
            written.withLock { $0 = store.commitCount }
        }
        await eventually { pair.left.shell.state.withLock { $0.phase == .closed } }
        for _ in 0..<1000 { await Task.yield() }
        store.isSlow = false
        await eventually { written.withLock { $0 } != nil }
        await archive.finish()
        #expect(store.commitCount == written.withLock { $0 })
        _ = (await first.result, await second.result)
    }

    @Test func `An unstored message isn't acknowledged, nor is an unwanted one after it`() throws {
        var channel = IncomingChannel(first: 1)
        let message = WireMessage.envelope(try envelope(1))
        for (number, message) in [(1, message), (2, nil), (3, message), (4, nil)] as [(UInt64, WireMessage?)] {
            _ = channel.hold(message, WireMark(outbox: 1, sequence: number, first: 1))
        }
        var releasedBytes = 0
        while let (number, _) = channel.removeNext(releasing: &releasedBytes) { channel.noteUnstored(number) }
        #expect(channel.acknowledged == 0)
        channel.noteStored(1)
        #expect(channel.acknowledged == 1)
        channel.noteStored(3)
        #expect(channel.acknowledged == 4)
    }

    @Test func `The newest snapshot survives a relaunch of either side`() async throws {
        let stores = (left: MemoryStore(), right: MemoryStore())
        let wire = MemoryWire()
        do {
            let pair = try Pair(wire, leftStore: stores.left, rightStore: stores.right)
            wire.connect()
            pair.settle()
            try await pair.left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
            pair.settle()
            wire.disconnect()
            try await pair.left.sendSnapshot(snapshot(2), mode: .latestSnapshot, to: nil)
            await pair.left.close()
            await pair.right.close()
        }
        let pair = try Pair(wire, leftStore: stores.left, rightStore: stores.right)
        #expect(pair.right.latestPeerSnapshot(featureID: "workout")?.revision == 1)
        wire.connect()
        pair.settle()
        #expect(pair.right.latestPeerSnapshot(featureID: "workout")?.revision == 2)
    }

    @Test func `A failing store makes a send throw, and the rejected message never arrives`() async throws {
        let store = FailingStore()
        let pair = try Pair(leftStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        store.fails = true
        await #expect(throws: StorageError.self) {
            try await pair.left.send(envelope(2), mode: .reliableEventually, to: nil)
        }
        store.fails = false
        try await pair.left.send(envelope(3), mode: .reliableEventually, to: nil)
        pair.settle(.seconds(2))
        #expect(await log.sequences(2) == [1, 3])
    }

    /// Regression: the receipt of the first send was rewritten after a failure, and the second send waited for it.
    @Test(.timeLimit(.minutes(1)))
    func `A failing store makes a send throw, whatever else must be rewritten`() async throws {
        let store = FailingStore()
        let pair = try Pair(leftStore: store)
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        store.fails = true
        pair.settle(.seconds(2))
        await #expect(throws: StorageError.self) {
            try await pair.left.send(envelope(2), mode: .reliableEventually, to: nil)
        }
    }

    @Test func `Pending messages wait while the store fails, and go before later messages`()
        async throws
    {
        let store = FailingStore()
        let pair = try Pair(leftStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        store.fails = true
        pair.wire.connect()
        pair.settle(.seconds(3))
        #expect(log.all.isEmpty)
        store.fails = false
        try await pair.left.send(envelope(4), mode: .reliableEventually, to: nil)
        pair.settle(.seconds(2))
        #expect(await log.sequences(4) == [1, 2, 3, 4])
    }

    @Test(arguments: [false, true])
    func `Pending messages are retried, and survive a relaunch with a failing store`(
        isRelaunched: Bool
    ) async throws {
        let store = FailingStore()
        let wire = MemoryWire()
        var pair = try Pair(wire, leftStore: store)
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        store.fails = true
        wire.connect()
        pair.settle(.seconds(3))
        store.fails = false
        if isRelaunched {
            wire.disconnect()
            pair.left.abandon()
            pair.right.abandon()
            pair = try Pair(wire, leftStore: store)
            wire.connect()
        }
        let log = Log(pair.right.receiveEnvelopes())
        pair.settle(.seconds(2))
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    @Test func `A message that waits for space in a peer's queue is sent once there is space`() async throws {
        var configuration = DeliveryConfiguration()
        configuration.queueLimit = 2
        let pair = try Pair(configuration: configuration)
        let log = Log(pair.right.receiveEnvelopes())
        for sequence in 1...5 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        pair.wire.connect()
        pair.settle(.seconds(5))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
    }

    @Test func `A store that failed at the first message of a feature can be read after a relaunch`() async throws {
        let store = FailingStore()
        let wire = MemoryWire()
        do {
            let pair = try Pair(wire, leftStore: store)
            wire.connect()
            pair.settle()
            store.fails = true
            await #expect(throws: StorageError.self) {
                try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
            }
            store.fails = false
            wire.disconnect()
            try await pair.left.send(envelope(2), mode: .reliableEventually, to: nil)
            await pair.left.close()
            await pair.right.close()
        }
        let pair = try Pair(wire, leftStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        wire.connect()
        pair.settle(.seconds(1))
        #expect(await log.sequences(1) == [2])
    }

    @Test func `A receiver's failing store only delays messages`() async throws {
        let store = FailingStore()
        let pair = try Pair(rightStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        store.fails = true
        for sequence in 1...5 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        pair.settle(.seconds(3))
        #expect(log.all.isEmpty)
        store.fails = false
        pair.settle(.seconds(3))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
    }
}

/// An in-memory store that refuses to write while `fails` is true.
final class FailingStore: StoreWrapper {
    let wrapped: any SessionStore = MemoryStore()
    private let isFailing = Locked(false)

    var fails: Bool {
        get { isFailing.withLock { $0 } }
        set { isFailing.withLock { $0 = newValue } }
    }

    func commit(_ batch: StoreBatch) throws {
        if fails { throw StorageError(.full, "no room") }
        try wrapped.commit(batch)
    }
}

/// A store whose writes wait while `isSlow` is true.
private final class SlowStore: SessionStore {
    private struct State {
        var commitCount = 0
        var isWriting = false
    }

    private let base = MemoryStore()
    private let state = Locked(State())
    private let condition = NSCondition()
    private nonisolated(unsafe) var slow = false

    var commitCount: Int { state.withLock { $0.commitCount } }
    var isWriting: Bool { state.withLock { $0.isWriting } }
    var isSlow: Bool {
        get { condition.withLock { slow } }
        set {
            condition.withLock {
                slow = newValue
                condition.broadcast()
            }
        }
    }

    var durability: StoreDurability { .process }
    func commit(_ batch: StoreBatch) throws {
        state.withLock { $0.isWriting = true }
        condition.withLock { while slow { condition.wait() } }
        try base.commit(batch)
        state.withLock { state in
            state.commitCount += 1
            state.isWriting = false
        }
    }
    func value(for key: String) throws -> [UInt8]? { try base.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try base.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try base.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}
