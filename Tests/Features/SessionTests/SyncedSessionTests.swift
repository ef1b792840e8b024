import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

@MainActor @Suite struct SyncedSessionTests {
    let world = VirtualWorld(seed: 1)

    @Test func `a tap shows at once on its device and soon on the other`() async throws {
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        try here.submit(.add(1), at: world.now)
        #expect(here.state.total == 1)
        await world.settle(until: { there.state.total == 1 })
        try there.submit(.add(2), at: world.now)
        await world.settle(until: { here.state.total == 3 })
        #expect(here.state == there.state)
    }

    @Test func `a late device shows the right state at once`() async throws {
        let here = world.session(world.transport(phone))
        here.start()
        for _ in 0..<10 { try here.submit(.add(1), at: world.now) }
        await world.settle()
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle(until: { there.state.total == 10 })
        #expect(there.statistics.applied == 0, "a snapshot, not the events")
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { there.state.total == 11 })
        #expect(there.statistics.gaps == 0)
    }

    @Test func `Taps made during a partition arrive when it heals`() async throws {
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        await world.settle()
        world.network.partition([phone], [watch])
        for _ in 0..<5 { try here.submit(.add(1), at: world.now) }
        await world.settle()
        #expect(there.state.total == 0)
        world.network.heal()
        await world.settle(until: { there.state.total == 5 })
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `one side's taps survive loss, duplication and reordering`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        for tap in 1...30 {
            try here.submit(.add(tap), at: world.now)
            await world.step()
        }
        await world.settle(until: { there.state == here.state })
    }

    @Test func `closing waits for the last event and snapshot, and is final`() async throws {
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        here.start()
        there.start()
        await world.settle()
        try here.submit(.add(1), at: world.now)
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        #expect(there.state == Counter(total: 1, isOver: true, amounts: [1]), "acknowledged before it closed")
        #expect(throws: SessionSyncError.sessionClosed) { try here.submit(.add(1), at: world.now) }
        try await here.close()
    }

    @Test func `starting twice listens once, and stopping keeps waiting messages`() async throws {
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        for _ in 0..<3 { here.start() }
        for _ in 0..<3 { there.start() }
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { there.state.total == 1 })
        #expect(there.statistics.duplicates == 0, "one subscription, not three")

        here.stop()
        try here.submit(.add(1), at: world.now)
        await world.settle()
        #expect(there.state.total == 1)
        here.start()
        await world.settle(until: { there.state.total == 2 })
    }

    @Test func `a high-rate event is followed by no snapshot`() async throws {
        let here = world.session(world.transport(phone)) { configuration in
            configuration.isHighRate = { $0 != .end }
        }
        here.start()
        await world.settle()
        for _ in 0..<20 { try here.submit(.add(1), at: world.now) }
        await world.settle()
        #expect(here.statistics.snapshotsSent == 0)
        try here.submit(.end, at: world.now)
        await world.settle(until: { here.statistics.snapshotsSent == 1 })
    }

    @Test func `closing doesn't wait for an absent peer`() async throws {
        let (here, there) = await world.pair()
        world.network.partition([phone], [watch])
        await world.settle(until: { here.reachablePeerIDs.isEmpty })
        try await here.close(with: .end, at: world.now)
        #expect(here.phase == .closed)
        #expect(!there.state.isOver)
    }

    @Test func `closing gives up on a peer that acknowledges nothing`() async throws {
        let (here, there) = await world.pair()
        there.stop()
        let start = world.network.elapsed
        let closing = Task { try await here.close(with: .end, at: world.now) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        #expect(world.network.elapsed - start < .seconds(3))
    }

    @Test func `a gap between members heals by its range, without a snapshot`() async throws {
        let (here, there) = await world.pair { $0.isHighRate = { _ in true } }
        let requests = there.statistics.snapshotRequestsSent
        world.network.setConditions(ScenarioConditions(lossRate: 1), from: phone, to: watch)
        try here.submit(.add(1), at: world.now)
        await world.run(.milliseconds(100))
        world.network.setConditions(nil, from: phone, to: watch)
        try here.submit(.add(2), at: world.now)
        let start = world.network.elapsed
        await world.settle(until: { there.state.total == 3 })
        #expect(world.network.elapsed - start < .seconds(1))
        #expect(there.statistics.gaps == 1)
        #expect(there.statistics.snapshotRequestsSent == requests)
        #expect(there.state.amounts == [1, 2])
    }

    @Test func `a gap found too soon after a request is requested later, even without another message`() async throws {
        // A peer without an engine that answers, so there are only snapshots.
        let here = ReferencePeer(world.transport(phone), now: { [network = world.network] in network.now })
        let there = world.session(world.transport(watch), incarnation: 2) { configuration in
            configuration.requestInterval = .seconds(20)
        }
        await world.meet()
        there.start()
        await world.settle()
        world.network.setConditions(ScenarioConditions(lossRate: 1), from: phone, to: watch)
        try await here.submit(.add(1), publishes: false)
        world.network.setConditions(nil, from: phone, to: watch)
        try await here.submit(.add(2), publishes: false)
        await world.settle()
        #expect(there.statistics.gaps == 1)
        #expect(there.state.total == 0)
        await world.settle(until: { there.state.total == 3 })
        #expect(there.statistics.snapshotRequestsSent == 2)
    }

    @Test func `a message that cannot be read is counted and changes nothing`() async throws {
        let stranger = world.transport(phone)
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle()
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: "phone", sequence: 1,
            causalTimestamp: world.now, payloadType: "counter.event")
        let wrong = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: ["not", "a", "tap"]))
        try await stranger.send(wrong, mode: .realtimeBestEffort, to: nil)
        await world.settle(until: { there.statistics.unread == 1 })
        #expect(there.state == Counter())
        var elsewhere = metadata
        elsewhere.payloadType = "counter.gesture"
        try await stranger.send(
            AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: elsewhere, payload: 1)), mode: .realtimeBestEffort)
        await world.settle(until: { there.statistics.rejected == 1 })
        #expect(there.state == Counter())
    }

    @Test func `submit throws before it uses a sequence if too many events wait`() async throws {
        let here = world.session(world.transport(phone)) { $0.outgoingMax = 3 }
        // The session isn't started, so everything waits.
        try here.submit(.add(1), at: world.now)
        try here.submit(.add(1), at: world.now)
        #expect(throws: SessionSyncError.queueFull(limit: 3)) {
            for _ in 0..<2 { try here.submit(.add(1), at: world.now) }
        }
        let total = here.state.total
        here.start()
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        await world.settle(until: { there.state.total == total })
        #expect(there.statistics.gaps == 0)
    }

    @Test func `remote events and snapshots are distinguished from local ones`() async throws {
        // On other networks a snapshot may overtake the event that it includes. Then the event is a duplicate.
        let world = VirtualWorld(seed: 1, conditions: .ideal)
        let here = world.session(world.transport(phone))
        let there = world.session(world.transport(watch), incarnation: 2)
        let events = there.remoteEvents()
        here.start()
        there.start()
        await world.settle()
        try there.submit(.add(10), at: world.now)
        await world.settle(until: { here.state.total == 10 })
        try here.submit(.add(1), at: world.now)
        await world.settle(until: { there.state.total == 11 })
        let closing = Task { try await there.close() }
        await world.settle(until: { there.phase == .closed })
        try await closing.value
        var received: [Tap] = []
        for await event in events { received.append(event.payload) }
        #expect(received == [.add(1)])
    }

    @Test func `An unreferenced session is released and stops listening`() async throws {
        let transport = world.transport(phone)
        weak var weakSession: CounterSession?
        do {
            let session = world.session(transport)
            session.start()
            try session.submit(.add(1), at: world.now)
            await world.settle()
            weakSession = session
        }
        await world.settle(until: { weakSession == nil })
    }
}
