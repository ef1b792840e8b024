import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

/// Transports over a scenario network: delivery on top of its links.
@Suite struct ScenarioTransportTests {
    let a = Party.peer("a")
    let b = Party.peer("b")
    let c = Party.peer("c")

    @Test func `Peers know each other after a round trip and receive their messages`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let transports = [a, b, c].map { network.makeTransport(localPeer: $0) }
        let heard = transports.map { Listener($0) }
        #expect(transports[0].knownPeers == [])
        network.runUntilIdle()
        #expect(Set(transports[0].knownPeers) == [b, c])
        for (index, mode) in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually, .acknowledgement]
            .enumerated()
        {
            try await transports[0].send(UInt64(index + 1), mode, to: b)
        }
        try await transports[0].send(9, .reliableEventually)
        #expect(network.trace.allSatisfy { $0.receiverID != $0.senderID })
        network.runUntilIdle()
        for unknown in [Party.peer("x"), a] {
            await #expect(throws: SessionSyncError.unknownPeer(id: unknown.id)) {
                try await transports[0].send(1, .reliableEventually, to: unknown)
            }
        }
        for transport in transports { await transport.close() }
        #expect(await heard[0].all().sequences() == [])
        #expect(await heard[1].all().sequences().sorted() == [1, 2, 3, 9])
        #expect(await heard[2].all().sequences() == [9])
    }

    @Test(arguments: [-3_600, 3_600])
    func `A message expires after its time to live, whatever the clocks show`(jump: Int) async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        for (sequence, life) in [(1, Duration.seconds(60)), (2, .seconds(5))] as [(UInt64, Duration)] {
            try await phone.send(
                Party.envelope(sequence, from: "a"), mode: .reliableEventually, to: nil,
                options: DeliveryOptions(timeToLive: life))
        }
        network.setClockOffset(.seconds(jump), of: a)
        network.advance(by: .seconds(30))
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch)
        network.runUntilIdle()
        // A disconnected peer can't measure the sender's clock again.
        network.partition([a], [b])
        try await phone.send(
            Party.envelope(3, from: "a"), mode: .reliableEventually, to: nil,
            options: DeliveryOptions(timeToLive: .seconds(60)))
        network.setClockOffset(.seconds(-jump), of: b)
        network.advance(by: .seconds(2))
        network.heal()
        network.runUntilIdle()
        for transport in [phone, watch] { await transport.close() }
        #expect(await heard.all().sequences() == [1, 3])
    }

    @Test func `A message that is withdrawn before its peer appears never arrives`() async throws {
        let network = ScenarioNetwork(seed: 2)
        let phone: any SessionSyncTransport = network.makeTransport(localPeer: a)
        let envelopes = (1...3 as ClosedRange<UInt64>).map { Party.envelope($0, from: "a") }
        for envelope in envelopes { try await phone.send(envelope, mode: .reliableEventually, to: nil) }
        let second = envelopes[1].metadata
        #expect(phone.cancel(eventID: second.eventID, featureID: second.featureID))
        #expect(!phone.cancel(eventID: second.eventID, featureID: second.featureID))
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch)
        network.runUntilIdle()
        for transport in [phone, watch] as [any SessionSyncTransport] { await transport.close() }
        #expect(await heard.all().sequences() == [1, 3])
    }

    @Test func `A reliable envelope waits until the peer has acknowledged it`() async throws {
        let network = ScenarioNetwork(seed: 3)
        let (phone, watch) = (network.makeTransport(localPeer: a), network.makeTransport(localPeer: b))
        func isWaiting(_ envelope: AnySessionSyncEnvelope) -> Bool {
            phone.isWaiting(eventID: envelope.metadata.eventID, featureID: envelope.metadata.featureID)
        }
        let envelopes = (1...4 as ClosedRange<UInt64>).map { Party.envelope($0, from: "a") }
        try await phone.send(envelopes[0], mode: .reliableEventually, to: nil)
        #expect(isWaiting(envelopes[0]), "no peer is known yet")
        let heard = Listener(watch)
        network.runUntilIdle()
        #expect(!isWaiting(envelopes[0]))
        network.partition([a], [b])
        for envelope in envelopes[1...2] { try await phone.send(envelope, mode: .reliableEventually, to: nil) }
        network.advance(by: .seconds(60))
        #expect(isWaiting(envelopes[1]) && isWaiting(envelopes[2]) && !isWaiting(envelopes[3]))
        phone.cancel(eventID: envelopes[1].metadata.eventID, featureID: envelopes[1].metadata.featureID)
        #expect(!isWaiting(envelopes[1]))
        network.heal()
        network.runUntilIdle()
        #expect(!isWaiting(envelopes[2]))
        for transport in [phone, watch] { await transport.close() }
        #expect(await heard.all().sequences() == [1, 3])
    }

    @Test("Reliable messages arrive once and in order on the worst of links", arguments: 0..<20 as Range<UInt64>)
    func reliableOrder(seed: UInt64) async throws {
        let choices = [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.streams, ScenarioLanes.paired]
        let lanes = choices[Int(seed % 4)]
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let phone = try network.makeTransport(localPeer: a, lanes: lanes, configuration: .init())
        let watch = try network.makeTransport(localPeer: b, lanes: lanes, configuration: .init())
        let heard = Listener(watch)
        network.advance(by: .seconds(5))
        for sequence in 1...120 as ClosedRange<UInt64> {
            if sequence % 20 == 5 { network.partition([a], [b]) }
            if sequence % 20 == 15 { network.heal() }
            try await phone.send(sequence, .reliableEventually)
            try await phone.send(sequence, feature: "other", .reliableEventually)
            network.advance(by: .milliseconds(30))
        }
        network.heal()
        network.runUntilIdle(within: .seconds(600))
        await watch.close()
        let envelopes = await heard.all()
        #expect(envelopes.sequences() == Array(1...120), "seed \(seed)")
        #expect(envelopes.sequences(of: "other") == Array(1...120), "seed \(seed)")
    }

    @Test func `Each feature's newest snapshot arrives after the partition`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch.receiveSnapshots())
        network.runUntilIdle()
        network.partition([a], [b])
        network.runUntilIdle()
        for revision in 1...5 as ClosedRange<UInt64> {
            try await phone.publish(revision)
            try await phone.publish(revision + 10, feature: "other")
            network.advance(by: .seconds(1))
        }
        #expect(watch.latestPeerSnapshot(featureID: "workout") == nil)
        network.heal()
        network.runUntilIdle()
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 5)
        await watch.close()
        #expect(await heard.all().map(\.revision).sorted() == [5, 15])
    }

    @Test("The last snapshot always arrives, whatever the pace and the faults", arguments: 0..<20 as Range<UInt64>)
    func lastSnapshotArrives(seed: UInt64) async throws {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let lanes = [ScenarioLanes.network, ScenarioLanes.datagrams, ScenarioLanes.paired][Int(seed % 3)]
        let phone = try network.makeTransport(localPeer: a, lanes: lanes, configuration: .init())
        let watch = try network.makeTransport(localPeer: b, lanes: lanes, configuration: .init())
        let heard = Listener(watch.receiveSnapshots())
        for revision in 1...50 as ClosedRange<UInt64> {
            if revision % 10 == 3 { network.partition(from: a, to: b) }
            try await phone.publish(revision)
            network.advance(by: .milliseconds(seed * 10))
            if revision % 10 == 8 { network.heal() }
        }
        network.heal()
        network.runUntilIdle(within: .seconds(600))
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 50, "seed \(seed)")
        await watch.close()
        let revisions = await heard.all().map(\.revision)
        #expect(Set(revisions).count == revisions.count, "seed \(seed)")
        if lanes[.latest] == nil { #expect(revisions == revisions.sorted(), "seed \(seed)") }
    }

    @Test func `A late peer receives the newest snapshots of the others`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        try await phone.publish(1)
        try await phone.publish(2)
        try await phone.publish(7, feature: "other")
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch.receiveSnapshots())
        network.runUntilIdle()
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 2)
        #expect(watch.latestPeerSnapshot(featureID: "other")?.revision == 7)
        await watch.close()
        #expect(await heard.all().map(\.revision).sorted() == [2, 7])
    }

    @Test func `Reliable messages wait for the next transport of a peer that has closed`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let reachability = phone.reachability(of: b)
        let watch = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        await watch.close()
        network.runUntilIdle()
        try await phone.send(1, .reliableEventually)
        network.runUntilIdle()
        let relaunched = network.makeTransport(localPeer: b)
        let heard = Listener(relaunched)
        network.runUntilIdle()
        #expect(await heard.sequences(1) == [1])
        #expect(relaunched.knownPeers == [a])
        await phone.close()
        #expect(await reachability.all().map(\.isReachable) == [true, false, true])
    }

    @Test func `A transport that is replaced by a relaunch is closed`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let crashed = network.makeTransport(localPeer: a)
        let envelopes = Listener(crashed)
        let relaunched = network.makeTransport(localPeer: a)
        let heard = Listener(network.makeTransport(localPeer: b))
        network.runUntilIdle()
        #expect(await envelopes.all().isEmpty)
        await #expect(throws: SessionSyncError.closed) { try await crashed.send(1, .realtimeBestEffort) }
        await crashed.close()
        try await relaunched.send(1, .realtimeBestEffort)
        network.runUntilIdle()
        #expect(await heard.sequences(1) == [1])
    }

    @Test("Accepted messages survive crashes of a sender that has a store", arguments: 0..<10 as Range<UInt64>)
    func crashes(seed: UInt64) async throws {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        let store = MemoryStore()
        var phone = try network.makeTransport(localPeer: a, configuration: .init(), store: store)
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch)
        network.runUntilIdle()
        for sequence in 1...60 as ClosedRange<UInt64> {
            try await phone.send(sequence, .reliableEventually)
            network.advance(by: .milliseconds(40))
            if sequence % 20 == 7 {
                network.crash(a)
                phone = try network.makeTransport(localPeer: a, configuration: .init(), store: store)
            }
        }
        network.runUntilIdle(within: .seconds(600))
        await watch.close()
        #expect(await heard.all().sequences() == Array(1...60), "seed \(seed)")
    }

    @Test func `Messages that were accepted before closing still arrive`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let heard = Listener(network.makeTransport(localPeer: b))
        network.runUntilIdle()
        try await phone.send(1, .reliableEventually)
        await phone.close()
        await #expect(throws: SessionSyncError.closed) { try await phone.send(2, .reliableEventually) }
        network.runUntilIdle()
        #expect(await heard.sequences(1) == [1])
    }

    @Test func `Many tasks may send while others move time and change the network`() async throws {
        let network = ScenarioNetwork(seed: 1, conditions: .rough)
        let peers = ["a", "b", "c", "d"].map { Party.peer($0) }
        let transports = peers.map { network.makeTransport(localPeer: $0) }
        let heard = transports.map { Listener($0) }
        network.runUntilIdle()
        try await withThrowingTaskGroup { group in
            for transport in transports {
                group.addTask {
                    for sequence in 1...100 as ClosedRange<UInt64> {
                        try await transport.send(sequence, feature: transport.localPeer.id, .reliableEventually)
                        try? await transport.send(sequence, feature: "noise", .realtimeBestEffort)
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask { for _ in 0..<300 { network.advance(by: .milliseconds(5)) } }
            }
            group.addTask {
                for _ in 0..<20 {
                    network.partition([peers[0], peers[1]], [peers[2], peers[3]])
                    network.heal()
                }
            }
            try await group.waitForAll()
        }
        network.heal()
        network.runUntilIdle(within: .seconds(600))
        for (transport, listener) in zip(transports, heard) {
            await transport.close()
            let envelopes = await listener.all()
            for sender in peers where sender != transport.localPeer {
                #expect(envelopes.sequences(of: sender.id) == Array(1...100))
            }
        }
    }

    @Test func `A request has its requester, and a budget rejects oversized messages`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let limit = PayloadLimit(id: "test.limit", bytes: 4, summary: "", source: "")
        let budget = PayloadBudget(limit: limit, codec: JSONTestCodec())
        let phone = network.makeTransport(localPeer: a, budget: budget)
        let watch = network.makeTransport(localPeer: b, budget: budget)
        var requests = watch.receiveSnapshotRequests().makeAsyncIterator()
        network.runUntilIdle()
        try await phone.requestSnapshot(sessionID: Party.session)
        network.runUntilIdle()
        #expect(await requests.next() == SessionSnapshotRequest(sessionID: Party.session, requester: a))
        await #expect(throws: SessionSyncError.payloadTooLarge(bytes: 7, limit: 4, limitID: "test.limit")) {
            try await phone.send(1, .reliableEventually)
        }
    }
}

/// Partitions and false reports, as transports see them.
@Suite struct ScenarioReachabilityTests {
    let a = Party.peer("a")
    let b = Party.peer("b")

    @Test func `Best effort is lost in a partition, then refused, and never delivered later`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch)
        let reachability = (phone.reachability(of: b), watch.reachability(of: a))
        network.runUntilIdle()
        try await phone.send(1, .realtimeBestEffort)
        network.partition([a], [b])
        try await phone.send(2, .realtimeBestEffort)
        network.runUntilIdle()
        await #expect(throws: SessionSyncError.notReachable) { try await phone.send(3, .realtimeBestEffort) }
        await #expect(throws: SessionSyncError.notReachable) {
            try await phone.requestSnapshot(sessionID: Party.session)
        }
        network.heal()
        network.runUntilIdle()
        try await phone.send(4, .realtimeBestEffort)
        network.runUntilIdle()
        for transport in [phone, watch] as [any SessionSyncTransport] { await transport.close() }
        #expect(await heard.all().sequences() == [4])
        #expect(await reachability.0.all().map(\.isReachable) == [true, false, true])
        #expect(await reachability.1.all().map(\.isReachable) == [true, false, true])
    }

    @Test
    func `Both sides soon notice that one isn't heard, and recover after a round trip`()
        async throws
    {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        network.runUntilIdle()
        #expect(phone.delivery.health(of: b) == .reachable && watch.delivery.health(of: a) == .reachable)
        network.partition(from: a, to: b)
        try await watch.send(1, .reliableEventually)
        network.advance(by: .milliseconds(6500))
        #expect(phone.delivery.health(of: b) == .degraded && watch.delivery.health(of: a) == .degraded)
        network.advance(by: .seconds(24))
        #expect(phone.delivery.health(of: b) == .gone && watch.delivery.health(of: a) == .gone)
        await #expect(throws: SessionSyncError.notReachable) { try await phone.send(2, .realtimeBestEffort) }
        network.heal()
        network.advance(by: .seconds(20))
        #expect(phone.delivery.health(of: b) == .reachable)
    }

    @Test func `A side with a false report that a peer is gone sends when the report ends`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        let watch = network.makeTransport(localPeer: b)
        let heard = Listener(watch)
        network.runUntilIdle()
        network.setReachable(false, of: b, seenBy: a)
        network.runUntilIdle()
        await #expect(throws: SessionSyncError.notReachable) { try await phone.send(1, .realtimeBestEffort) }
        try await phone.send(2, .reliableEventually)
        network.advance(by: .seconds(60))
        network.setReachable(nil, of: b, seenBy: a)
        network.runUntilIdle()
        await watch.close()
        #expect(await heard.all().sequences() == [2])
    }

    @Test func `A side with a false report that a peer is connected notices it`() async throws {
        let network = ScenarioNetwork(seed: 1)
        let phone = network.makeTransport(localPeer: a)
        network.makeTransport(localPeer: b)
        network.runUntilIdle()
        network.setReachable(true, of: b, seenBy: a)
        network.partition([a], [b])
        network.advance(by: .seconds(1))
        #expect(phone.delivery.health(of: b) == .reachable, "as the link says")
        network.advance(by: .seconds(30))
        #expect(phone.delivery.health(of: b) == .gone, "as nobody answers")
        network.heal()
        network.advance(by: .seconds(30))
        #expect(phone.delivery.health(of: b) == .reachable)
    }

    @Test("Transports of one seed behave the same in every run", arguments: 0..<6 as Range<UInt64>)
    func replays(seed: UInt64) async throws {
        func run() async throws -> [ScenarioTraceEntry] {
            let network = ScenarioNetwork(seed: seed, conditions: .rough)
            let transports = [a, b, Party.peer("c")].map { network.makeTransport(localPeer: $0) }
            for step in 1...40 as ClosedRange<UInt64> {
                if step == 10 { network.partition([a, Party.peer("c")], [b]) }
                if step == 15 { network.setReachable(true, of: b, seenBy: a) }
                if step == 20 { network.heal() }
                if step == 30 { network.partition(from: Party.peer("c"), to: a) }
                for transport in transports {
                    try? await transport.send(step, .realtimeBestEffort)
                    try await transport.send(step, feature: "other", .reliableEventually)
                    try await transport.publish(step, feature: "state")
                    try? await transport.requestSnapshot(sessionID: Party.session)
                }
                network.advance(by: .milliseconds(25))
            }
            network.heal()
            network.runUntilIdle()
            return network.trace
        }
        let first = try await run()
        #expect(first.count > 300)
        #expect(try await run() == first, "seed \(seed)")
    }
}

private struct JSONTestCodec: PayloadCodec {
    let id = PayloadCodecID(number: 200, name: "json-test")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
