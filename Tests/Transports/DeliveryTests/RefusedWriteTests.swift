import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// The store refuses one write, and works again.
@Suite struct RefusedWriteTests {
    private let wire = MemoryWire()

    @Test func `Messages that subscribers finished during a failed write don't come again`() async throws {
        let store = FailingStore()
        let pair = try Pair(wire, rightStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        wire.connect()
        pair.settle()
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        #expect(await log.sequences(3) == [1, 2, 3])
        await eventually { pair.right.shell.inbox.durableDoneCount == 3 }
        store.fails = true
        pair.settle(.seconds(1))
        store.fails = false
        await pair.right.close()
        await pair.left.close()
        let next = try Pair(MemoryWire(), rightStore: store)
        #expect(next.right.shell.archive?.hasInbox == false)
        withExtendedLifetime(next) {}
    }

    @Test func `A reliable snapshot that the store refused arrives, and so do later messages`() async throws {
        let store = FailingStore()
        let pair = try Pair(wire, rightStore: store)
        let snapshots = Log(pair.right.receiveSnapshots())
        let log = Log(pair.right.receiveEnvelopes())
        wire.connect()
        pair.settle()
        store.fails = true
        try await pair.left.sendSnapshot(snapshot(1), mode: .reliableEventually, to: nil)
        pair.settle()
        store.fails = false
        try await pair.left.send(envelope(2), mode: .reliableEventually, to: nil)
        pair.settle(.seconds(5))
        #expect(await snapshots.atLeast(1).map(\.revision) == [1])
        #expect(await log.sequences(1) == [2])
        await pair.right.close()
        await pair.left.close()
    }

    @Test func `A received reliable snapshot stays in the store until a later write`() async throws {
        let store = MemoryStore()
        let pair = try Pair(wire, rightStore: store)
        wire.connect()
        pair.settle()
        try await pair.left.sendSnapshot(snapshot(1), mode: .reliableEventually, to: nil)
        // The process ends now.
        #expect(try store.entries(of: "delivery/inbox", from: 0, maxBytes: 1 << 20).count == 1)
        pair.settle(.seconds(1))
        #expect(try store.entries(of: "delivery/inbox", from: 0, maxBytes: 1 << 20).isEmpty)
        withExtendedLifetime(pair) {}
    }

    @Test func `A forgotten peer stays forgotten although the store refused that write`() async throws {
        let store = FailingStore()
        let pair = try Pair(wire, leftStore: store)
        wire.connect()
        pair.settle()
        wire.disconnect()
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: peer("right"))
        store.fails = true
        pair.left.forget(peer("right"))
        store.fails = false
        try await pair.left.send(envelope(2), mode: .reliableEventually, to: nil)
        pair.settle(.seconds(2))
        await pair.left.close()
        let next = try Pair(MemoryWire(), leftStore: store)
        #expect(next.left.knownPeers.isEmpty)
        #expect(try store.catalog(prefix: "delivery/to/").journals.isEmpty)
        withExtendedLifetime((pair, next)) {}
    }

    @Test func `A guest that is trusted now is restored as trusted although the store refused that write`()
        async throws
    {
        let store = FailingStore()
        let wire = MemoryWire(provesPeers: true, guestsAt: ["left"])
        let pair = try Pair(wire, leftStore: store)
        pair.left.admitGuests(["right"], toSession: sessionID, featureID: "workout")
        wire.connect()
        pair.settle()
        wire.disconnect()
        #expect(try store.catalog(prefix: "delivery/guest/").keys.count == 1)
        wire.setGuests(at: [])
        store.fails = true
        wire.connect()
        pair.settle()
        store.fails = false
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        pair.settle(.seconds(2))
        await pair.left.close()
        let next = try Pair(MemoryWire(), leftStore: store)
        #expect(next.left.knownPeers.map(\.id) == ["right"])
        withExtendedLifetime((pair, next)) {}
    }

    @Test func `close ends although the store refused a change that no send waits for`() async throws {
        let store = FailingStore()
        let pair = try Pair(wire, leftStore: store)
        store.fails = true
        try await pair.left.sendSnapshot(snapshot(1), mode: .latestSnapshot, to: nil)
        store.fails = false
        await pair.left.close()
        let next = try Pair(wire, leftStore: store)
        wire.connect()
        next.settle(.seconds(1))
        #expect(next.right.latestPeerSnapshot(featureID: "workout")?.revision == 1)
    }

    @Test func `A message cancelled behind an unacknowledged one isn't sent after a relaunch`() async throws {
        let store = MemoryStore()
        let pair = try Pair(wire, leftStore: store)
        wire.connect()
        pair.settle()
        wire.disconnect()
        for sequence in 1...5 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
        }
        for sequence in [2, 4, 5] as [UInt64] {
            #expect(pair.left.cancel(eventID: try envelope(sequence).metadata.eventID, featureID: "workout"))
        }
        await pair.left.close()
        await pair.right.close()
        for launch in 1...2 as ClosedRange<UInt64> {
            let next = try Pair(wire, leftStore: store)
            try await next.left.send(envelope(5 + launch), mode: .reliableEventually, to: peer("right"))
            guard launch == 2 else {
                await next.left.close()
                await next.right.close()
                continue
            }
            let log = Log(next.right.receiveEnvelopes())
            wire.connect()
            next.settle(.seconds(1))
            #expect(await log.sequences(4) == [1, 3, 6, 7])
            next.settle(.seconds(1))
            #expect(try store.catalog(prefix: "delivery/cancelled/").keys.isEmpty)
            await next.left.close()
            await next.right.close()
        }
    }

    @Test func `All unread messages are restored, however many there are`() async throws {
        let store = MemoryStore()
        let setup = LineSetup(
            codec: CompactCodec(), codecs: try CodecTable([CompactCodec()]), compression: .stored, datagramLimit: nil,
            streamBytes: 65_536, firstFragment: 0)
        let archive = try DeliveryArchive(store, setup, outbox: 1)
        for number in 1...5000 as ClosedRange<UInt64> {
            archive.note([
                .received(
                    peerID: "left", ChannelKey(outbox: 1, featureID: "workout"), number: number,
                    .envelope(try encodedEnvelope(number, feature: "workout")))
            ])
        }
        archive.write(doneCount: { 0 }, conclude: { _ = $0() })
        let pair = try Pair(wire, rightStore: store)
        let log = Log(pair.right.receiveEnvelopes())
        #expect(await log.sequences(5000) == Array(1...5000))
        withExtendedLifetime(pair) {}
    }

    /// On real threads, because each write ends on the store's own.
    @Test func `Messages that many tasks send while writes fail arrive once and in order after a relaunch`()
        async throws
    {
        let store = FlakyStore(seed: 261_201)
        let pair = try Pair(wire, leftStore: store)
        wire.connect()
        pair.settle()
        wire.disconnect()
        await withTaskGroup { group in
            for feature in 0..<8 {
                group.addTask {
                    for sequence in 1...40 as ClosedRange<UInt64> {
                        // A message that is refused, and one that was stored although `send` threw, keeps its ID.
                        while await !isSent(sequence, feature: "\(feature)", by: pair.left) {}
                    }
                }
            }
        }
        #expect(store.refusals > 20)
        store.rate = 0
        await pair.left.close()
        await pair.right.close()
        let next = try Pair(wire, leftStore: store)
        let log = Log(next.right.receiveEnvelopes())
        wire.connect()
        next.settle(.seconds(2))
        let arrived = await log.atLeast(320)
        for feature in 0..<8 {
            let sequences = arrived.filter { $0.metadata.featureID == "\(feature)" }.map(\.metadata.sequence)
            #expect(sequences == Array(1...40))
        }
        await next.left.close()
        await next.right.close()
    }
}

private func isSent(_ sequence: UInt64, feature: String, by sender: LinkTransport) async -> Bool {
    do {
        try await sender.send(envelope(sequence, feature: feature), mode: .reliableEventually, to: peer("right"))
        return true
    } catch {
        return false
    }
}

/// A store with a thread of its own that refuses some writes.
private final class FlakyStore: StoreWrapper {
    private struct State {
        var random: SplitMix64
        var rate = 0.3
        var refusals = 0
    }

    let wrapped: any SessionStore = MemoryStore()
    private let state: Locked<State>

    init(seed: UInt64) { state = Locked(State(random: SplitMix64(seed: seed))) }

    var refusals: Int { state.withLock { $0.refusals } }
    var rate: Double {
        get { state.withLock { $0.rate } }
        set { state.withLock { $0.rate = newValue } }
    }

    var durability: StoreDurability { .process }
    func commit(_ batch: StoreBatch) throws {
        let isRefused = state.withLock { state in
            let isRefused = state.random.happens(rate: state.rate)
            if isRefused { state.refusals += 1 }
            return isRefused
        }
        if isRefused { throw StorageError(.full, "no room") }
        try wrapped.commit(batch)
    }
}
