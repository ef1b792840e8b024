import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshTransport
import Testing

@MainActor @Suite struct SyncedSessionTests {
    let network = ScenarioNetwork(seed: 1)

    @Test func `a tap shows at once here and soon there, both ways`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        here.start()
        there.start()
        try here.submit(.add(1), at: network.now)
        #expect(here.state.total == 1)
        await network.settle { there.state.total == 1 }
        try there.submit(.add(2), at: network.now)
        await network.settle { here.state.total == 3 }
        #expect(here.state == there.state)
    }

    @Test func `a device that joins late is right at once`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        here.start()
        for _ in 0..<10 { try here.submit(.add(1), at: network.now) }
        await network.settle()
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        there.start()
        await network.settle { there.state.total == 10 }
        #expect(there.statistics.applied == 0, "a snapshot, not the events")
        try here.submit(.add(1), at: network.now)
        await network.settle { there.state.total == 11 }
        #expect(there.statistics.gaps == 0)
    }

    @Test func `what is tapped during a partition arrives when it heals`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        here.start()
        there.start()
        await network.settle()
        network.partition([phone], [watch])
        for _ in 0..<5 { try here.submit(.add(1), at: network.now) }
        await network.settle()
        #expect(there.state.total == 0)
        network.heal()
        await network.settle { there.state.total == 5 }
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `one side's taps survive loss, duplication and reordering`(seed: UInt64) async throws {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        here.start()
        there.start()
        for tap in 1...30 {
            try here.submit(.add(tap), at: network.now)
            network.advance(by: .milliseconds(20))
            await Task.yield()
        }
        await network.settle { there.state == here.state }
    }

    @Test func `closing waits for the last event and the snapshot, and is for good`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        here.start()
        there.start()
        await network.settle()
        try here.submit(.add(1), at: network.now)
        try await here.close(with: .end, at: network.now)
        #expect(here.phase == .closed)
        #expect(throws: SessionSyncError.closed) { try here.submit(.add(1), at: network.now) }
        try await here.close()
        await network.settle { there.state == Counter(total: 1, isOver: true) }
    }

    @Test func `starting twice listens once, and stopping keeps what waits`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        for _ in 0..<3 { here.start() }
        for _ in 0..<3 { there.start() }
        try here.submit(.add(1), at: network.now)
        await network.settle { there.state.total == 1 }
        #expect(there.statistics.duplicates == 0, "one subscription, not three")

        here.stop()
        try here.submit(.add(1), at: network.now)
        await network.settle()
        #expect(there.state.total == 1)
        here.start()
        await network.settle { there.state.total == 2 }
    }

    @Test func `a high-rate event is followed by no snapshot`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network) { configuration in
            configuration.isHighRate = { $0 != .end }
        }
        here.start()
        await network.settle()
        for _ in 0..<20 { try here.submit(.add(1), at: network.now) }
        await network.settle()
        #expect(here.statistics.snapshotsSent == 0)
        try here.submit(.end, at: network.now)
        await network.settle { here.statistics.snapshotsSent == 1 }
    }

    @Test func `a gap that shows too soon after a request is asked for later, though nothing else comes`() async throws
    {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network) { $0.isHighRate = { _ in true } }
        let there = makeSession(network.makeTransport(localPeer: watch), on: network) { configuration in
            configuration.requestInterval = .seconds(20)
        }
        here.start()
        there.start()
        await network.settle()
        network.setConditions(ScenarioConditions(lossRate: 1), from: phone, to: watch)
        try here.submit(.add(1), at: network.now)
        await network.settle()
        network.setConditions(nil, from: phone, to: watch)
        try here.submit(.add(2), at: network.now)
        await network.settle()
        #expect(there.statistics.gaps == 1)
        #expect(there.state.total == 0)
        await network.settle { there.state.total == 3 }
        #expect(there.statistics.snapshotRequestsSent == 2)
    }

    @Test func `a message that cannot be read is counted and changes nothing`() async throws {
        let stranger = network.makeTransport(localPeer: phone)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        there.start()
        await network.settle()
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: "phone", sequence: 1,
            causalTimestamp: network.now, payloadType: "counter.event")
        let wrong = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: ["not", "a", "tap"]))
        try await stranger.send(wrong, mode: .realtimeBestEffort, to: nil)
        await network.settle { there.statistics.rejected == 1 }
        #expect(there.state == Counter())
    }

    @Test func `submit refuses before a sequence is taken when too much waits`() async throws {
        let here = makeSession(network.makeTransport(localPeer: phone), on: network) { $0.outgoingMax = 3 }
        // Not started: everything waits.
        try here.submit(.add(1), at: network.now)
        try here.submit(.add(1), at: network.now)
        #expect(throws: SessionSyncError.queueFull(limit: 3)) {
            for _ in 0..<2 { try here.submit(.add(1), at: network.now) }
        }
        let total = here.state.total
        here.start()
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        there.start()
        await network.settle { there.state.total == total }
        #expect(there.statistics.gaps == 0)
    }

    @Test func `remote events and snapshots are told apart from local ones`() async throws {
        // Elsewhere a snapshot may overtake the event that it includes, which then is a duplicate.
        let network = ScenarioNetwork(seed: 1, conditions: .ideal)
        let here = makeSession(network.makeTransport(localPeer: phone), on: network)
        let there = makeSession(network.makeTransport(localPeer: watch), on: network)
        let events = there.remoteEvents()
        here.start()
        there.start()
        await network.settle()
        try there.submit(.add(10), at: network.now)
        await network.settle { here.state.total == 10 }
        try here.submit(.add(1), at: network.now)
        await network.settle { there.state.total == 11 }
        try await there.close()
        var received: [Tap] = []
        for await event in events { received.append(event.payload) }
        #expect(received == [.add(1)])
    }

    @Test func `a session that nobody holds goes, and stops listening`() async throws {
        let transport = network.makeTransport(localPeer: phone)
        weak var weakSession: CounterSession?
        do {
            let session = makeSession(transport, on: network)
            session.start()
            try session.submit(.add(1), at: network.now)
            await network.settle()
            weakSession = session
        }
        await network.settle { weakSession == nil }
    }
}
