import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTransport
import MeshWire
import Testing

/// `close(with:)` ends a session for all; `close()` leaves it.
@MainActor @Suite struct EndingTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `A final event ends the session on both devices, over loss and delay`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (here, there) = await world.pair()
        try there.submit(.add(1), at: world.now)
        let closing = Task { try await here.close(with: .end, at: world.now) }
        try there.submit(.add(2), at: world.now)
        await world.settle(until: { here.phase == .closed && there.hasEnded && there.state.isOver })
        try await closing.value
        #expect(throws: SessionSyncError.sessionEnded) { try there.submit(.add(3), at: world.now) }
        let leaving = Task { try await there.close(with: .end, at: world.now) }
        await world.settle(until: { there.phase == .closed })
        try await leaving.value
        #expect(there.state.amounts == [1, 2], "seed \(seed)")
    }

    @Test func `A relaunch opens an ended session while others must still learn of it, and not afterwards`()
        async throws
    {
        let world = VirtualWorld(seed: 3)
        let stores = (here: MemoryStore(), there: MemoryStore())
        func open(_ device: SessionPeer, _ store: MemoryStore) async throws -> CounterSession {
            try await world.opened(world.transport(device), incarnation: device == phone ? 1 : 2, store: store)
        }
        var here = try await open(phone, stores.here)
        var there = try await open(watch, stores.there)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        there.stop()
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value

        here = try await open(phone, stores.here)
        #expect(here.hasEnded && here.phase == .stopped, "the watch does not know yet")
        #expect(throws: SessionSyncError.sessionEnded) { try here.submit(.add(1), at: world.now) }
        here.start()
        there.start()
        await world.settle(until: { there.hasEnded && there.state.isOver })
        await world.settle()

        here = try await open(phone, stores.here)
        there = try await open(watch, stores.there)
        for session in [here, there] {
            #expect(session.phase == .closed && session.state.isOver)
            session.start()
            #expect(session.phase == .closed)
        }
    }

    @Test func `M12 a state that the system kept doesn't revive an ended and erased session`()
        async throws
    {
        let world = VirtualWorld(seed: 5)
        let store = MemoryStore()
        let phoneTransport = world.transport(phone)
        let watchTransport = world.transport(watch)
        let here = world.session(phoneTransport)
        let there = try await world.opened(watchTransport, incarnation: 2, store: store)
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        #expect(try SessionTombstones(of: "counter", in: store).sessionIDs.isEmpty)
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { there.hasEnded && there.state.isOver })
        await world.settle()
        try await closing.value
        #expect(
            watchTransport.latestPeerSnapshot(featureID: "counter") != nil, "nothing is stored that could revive it")

        var archive = try SessionArchive<Counter, Tap>(store: store, sessionID: sessionID, featureID: "counter")
        try archive.erase()
        let ended = try SessionTombstones(of: "counter", in: store)
        #expect(ended.sessionIDs == [sessionID])
        await #expect(throws: SessionSyncError.sessionEnded) {
            try await world.opened(watchTransport, incarnation: 3, store: store)
        }
        let raised = watchTransport.sessions(featureID: "counter", ended: ended)
        await watchTransport.close()
        for await id in raised { Issue.record("\(id) is back") }
    }

    @Test func `A store keeps the ids of the sessions that ended last`() throws {
        let store = MemoryStore()
        let ids = (0..<300).map { _ in UUID() }
        for (number, id) in ids.enumerated() {
            var batch = StoreBatch()
            SessionTombstones.mark(
                id, of: "counter", endedAt: HybridTimestamp(milliseconds: UInt64(number)), in: &batch)
            try store.commit(batch)
        }
        #expect(
            try SessionTombstones(of: "counter", in: store).sessionIDs == Array(ids.suffix(SessionTombstones.countMax)))
        try SessionTombstones.prune(of: "counter", in: store)
        #expect(try store.catalog(prefix: "session/counter/").keys.count == SessionTombstones.countMax)
        #expect(
            try SessionTombstones(of: "counter", in: store).sessionIDs == Array(ids.suffix(SessionTombstones.countMax)))
        #expect(try SessionTombstones(of: "another", in: store).sessionIDs.isEmpty)
        #expect(try SessionArchive<Counter, Tap>.sessionIDs(of: "counter", in: store).isEmpty)
    }

    @Test func `Without a final event one member leaves and the other continues`() async throws {
        let world = VirtualWorld(seed: 4)
        let (here, there) = await world.pair()
        let closing = Task { try await here.close() }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        #expect(!there.hasEnded)
        try there.submit(.add(1), at: world.now)
        #expect(there.state.total == 1)
    }

    /// A control of a version that doesn't know the end of a session.
    private struct OlderControl: Codable {
        var group: SessionSource?
        var members: [SessionSource]
        var firstSequence: UInt64
        var held: SequenceVector
        var asks: [LivenessToken]
        var echoes: [LivenessToken]
        var wants: [SessionRange]
        var isDigest: Bool
        var replacements: [SessionRecord<Never>]
        var position: UInt64
        var chain: UInt64
        var clockEchoes: [ClockEcho]
        var forked: [SourceSequence]
    }

    @Test func `Versions with and without session ends can read each other`() throws {
        var control = SessionControl(members: [SessionSource(peerID: "phone", incarnation: 1)], position: 7)
        let codec = CompactCodec()
        let older = try codec.decode(OlderControl.self, from: codec.encode(control))
        #expect(try codec.decode(SessionControl.self, from: codec.encode(older)) == control)
        control.hasEnded = true
        #expect(try codec.decode(OlderControl.self, from: codec.encode(control)).position == 7)
        #expect(try codec.decode(SessionControl.self, from: codec.encode(control)).hasEnded)
    }

    @Test func `A stopped session is also ended in its store`() async throws {
        let world = VirtualWorld(seed: 6)
        let store = MemoryStore()
        let here = try await world.opened(world.transport(phone), store: store)
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        let again = try await world.opened(world.transport(phone), store: store)
        #expect(again.hasEnded && again.state.isOver)
    }

    @Test func `A full log takes the final event`() async throws {
        let world = VirtualWorld(seed: 5)
        let here = world.session(world.transport(phone)) { $0.engine.ownUnconfirmedMax = 4 }
        here.start()
        for tap in 0..<4 { try here.submit(.add(tap), at: world.now) }
        #expect(throws: SessionSyncError.logFull(limit: 4)) { try here.submit(.add(9), at: world.now) }
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        #expect(here.state.isOver && here.state.amounts == [0, 1, 2, 3])
    }
}
