import Foundation
import MeshBus
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@Suite struct ScenarioDeliveryTests {
    let a = Party.peer("a")
    let b = Party.peer("b")
    let c = Party.peer("c")

    @Test func `Nothing arrives before time is moved`() async throws {
        let network = ScenarioNetwork(seed: 1, conditions: ScenarioConditions(latency: .fixed(.milliseconds(20))))
        let (phone, watch) = (network.makeTransport(localPeer: a), network.makeTransport(localPeer: b))
        let envelopes = watch.receiveEnvelopes()
        try await phone.send(1, .realtimeBestEffort)
        #expect(network.advance(by: .milliseconds(19)) == 0)
        #expect(network.delivered(to: "b") == [])
        network.advance(by: .milliseconds(1))
        #expect(network.delivered(to: "b") == [1])
        #expect(network.elapsed == .milliseconds(20))
        #expect(network.now == network.start.addingTimeInterval(0.02))
        await watch.close()
        #expect(await drain(envelopes).map(\.metadata.sequence) == [1])
    }

    @Test func `Own sends do not come back and a targeted one reaches its peer only`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        _ = (network.makeTransport(localPeer: b), network.makeTransport(localPeer: c))
        #expect(phone.knownPeers == [b, c])
        for (index, mode) in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually, .acknowledgement]
            .enumerated()
        {
            try await phone.send(UInt64(index + 1), mode, to: b)
        }
        try await phone.send(9, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "a") == [])
        #expect(network.delivered(to: "b").sorted() == [1, 2, 3, 9])
        #expect(network.delivered(to: "c") == [9])
        for unknown in [Party.peer("x"), a] {
            await #expect(throws: SessionSyncError.unknownPeer(id: unknown.id)) {
                try await phone.send(1, .reliableEventually, to: unknown)
            }
        }
    }

    @Test("Reliable messages arrive once and in order on the worst of links", arguments: 0..<20 as Range<UInt64>)
    func reliableOrder(seed: UInt64) async throws {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        _ = watch
        var sent: [UInt64] = []
        for sequence in 1...120 as ClosedRange<UInt64> {
            if sequence % 20 == 5 { network.partition([a], [b]) }
            if sequence % 20 == 15 { network.heal() }
            try await phone.send(sequence, .reliableEventually)
            try await phone.send(sequence, feature: "other", .reliableEventually)
            sent.append(sequence)
            network.advance(by: .milliseconds(30))
        }
        network.heal()
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == sent, "seed \(seed)")
        #expect(network.delivered(to: "b", feature: "other") == sent, "seed \(seed)")
    }

    @Test func `A reliable queue is bounded, and a refused broadcast is refused for all`() async throws {
        let network = ScenarioNetwork(seed: 1, queueLimit: 3)
        let phone = network.makeTransport(localPeer: a)
        _ = (network.makeTransport(localPeer: b), network.makeTransport(localPeer: c))
        network.partition([a], [b])
        for sequence in 1...3 as ClosedRange<UInt64> { try await phone.send(sequence, .reliableEventually, to: b) }
        await #expect(throws: SessionSyncError.queueFull(limit: 3)) { try await phone.send(4, .reliableEventually) }
        network.heal()
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1, 2, 3])
        #expect(network.delivered(to: "c") == [])
        try await phone.send(4, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "c") == [4])
    }

    @Test func `Of latest snapshots the newest of each feature arrives after the partition`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        network.partition([a], [b])
        for revision in 1...5 as ClosedRange<UInt64> {
            try await phone.publish(revision)
            try await phone.publish(revision + 10, feature: "other")
            network.advance(by: .seconds(1))
        }
        #expect(network.delivered(to: "b") == [])
        network.heal()
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [5])
        #expect(network.delivered(to: "b", feature: "other") == [15])
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 5)
        #expect(await watch.receiveSnapshots().first { _ in true } != nil)
    }

    @Test("The last snapshot always arrives, whatever the pace and the faults", arguments: 0..<20 as Range<UInt64>)
    func lastSnapshotArrives(seed: UInt64) async throws {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        for revision in 1...50 as ClosedRange<UInt64> {
            if revision % 10 == 3 { network.partition(from: a, to: b) }
            try await phone.publish(revision)
            network.advance(by: .milliseconds(seed * 10))
            if revision % 10 == 8 { network.heal() }
        }
        network.heal()
        network.runUntilIdle()
        let delivered = network.delivered(to: "b")
        #expect(delivered == delivered.sorted() && Set(delivered).count == delivered.count, "seed \(seed)")
        #expect(delivered.last == 50, "seed \(seed)")
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 50, "seed \(seed)")
    }

    @Test func `Who joins late receives the newest snapshots of those who are there`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        try await phone.publish(1)
        try await phone.publish(2)
        try await phone.publish(7, feature: "other")
        let watch = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 2)
        #expect(watch.latestPeerSnapshot(featureID: "other")?.revision == 7)
        #expect(network.delivered(to: "b") == [2])
    }

    @Test func `Reliable messages wait for the next transport of a peer that has closed`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        await watch.close()
        try await phone.send(1, .reliableEventually)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [])
        let relaunched = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
        #expect(relaunched.knownPeers == [a])
        #expect(network.told("a", of: "b") == [true, false, true])
    }

    @Test func `A transport that is replaced by a relaunch is closed`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let crashed = network.makeTransport(localPeer: a)
        let envelopes = crashed.receiveEnvelopes()
        let relaunched = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        #expect(await drain(envelopes).isEmpty)
        await #expect(throws: SessionSyncError.closed) { try await crashed.send(1, .realtimeBestEffort) }
        await crashed.close()
        try await relaunched.send(1, .realtimeBestEffort)
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
    }

    @Test func `What was accepted before closing still arrives`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        _ = network.makeTransport(localPeer: b)
        try await phone.send(1, .reliableEventually)
        await phone.close()
        await #expect(throws: SessionSyncError.closed) { try await phone.send(2, .reliableEventually) }
        network.runUntilIdle()
        #expect(network.delivered(to: "b") == [1])
    }

    @Test func `A request carries its requester and a budget refuses what is too large`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let limit = PayloadLimit(id: "test.limit", bytes: 4, summary: "", source: "")
        let phone = network.makeTransport(
            localPeer: a, budget: PayloadBudget(limit: limit, codec: JSONTestCodec()))
        let watch = network.makeTransport(localPeer: b)
        var requests = watch.receiveSnapshotRequests().makeAsyncIterator()
        try await phone.requestSnapshot(sessionID: Party.session)
        network.runUntilIdle()
        #expect(await requests.next() == SessionSnapshotRequest(sessionID: Party.session, requester: a))
        await #expect(throws: SessionSyncError.payloadTooLarge(bytes: 7, limit: 4, limitID: "test.limit")) {
            try await phone.send(1, .reliableEventually)
        }
    }
}

private struct JSONTestCodec: PayloadCodec {
    let id = PayloadCodecID(number: 200, name: "json-test")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
