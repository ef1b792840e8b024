import MeshBus
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTransport
import Testing

/// What a store is for: both sides may go and come back.
@Suite struct DurabilityTests {
    @Test func `M16: what was accepted before anybody was known outlives a relaunch`() async throws {
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

    @Test func `M11: what was accepted and not acknowledged outlives a relaunch, once and in order`() async throws {
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

    @Test func `What has been acknowledged and not looked at is offered again after a relaunch`() async throws {
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

    @Test func `The newest snapshot outlives a relaunch of either side`() async throws {
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

    @Test func `A store that fails makes a send throw, and what was not accepted never arrives`() async throws {
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

    @Test func `A receiver's store that fails costs nothing but time`() async throws {
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

/// A store in memory that refuses to write when it is told to.
final class FailingStore: SessionStore {
    private let base = MemoryStore()
    private let isFailing = Locked(false)

    var fails: Bool {
        get { isFailing.withLock { $0 } }
        set { isFailing.withLock { $0 = newValue } }
    }

    var durability: StoreDurability { .memory }
    func commit(_ batch: StoreBatch) throws {
        if fails { throw StorageError(.full, "no room") }
        try base.commit(batch)
    }
    func value(for key: String) throws -> [UInt8]? { try base.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try base.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try base.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}
