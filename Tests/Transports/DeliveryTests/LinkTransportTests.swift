import MeshBase
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

@Suite struct LinkTransportTests {
    @Test func `Peers know each other after the greeting and are reachable after a round trip`() async throws {
        let pair = try Pair()
        let changes = Log(pair.left.reachabilityChanges())
        pair.wire.connect()
        #expect(pair.left.knownPeers.map(\.id) == ["right"])
        #expect(pair.right.knownPeers.map(\.id) == ["left"])
        pair.settle()
        #expect(pair.left.health(of: peer("right")) == .reachable)
        #expect(await changes.atLeast(1).map(\.isReachable) == [true])
        pair.wire.disconnect()
        #expect(pair.left.health(of: peer("right")) == .gone)
        #expect(await changes.atLeast(2).map(\.isReachable) == [true, false])
    }

    @Test func `Everything arrives once and in order, whatever the mode`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        for sequence in 1...100 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        try await pair.left.send(envelope(101), mode: .realtimeBestEffort, to: nil)
        #expect(await log.sequences(101) == Array(1...101))
    }

    @Test func `A message sent while the peer is away arrives later, after those in flight`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        for sequence in 1...10 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
        }
        pair.wire.disconnect()
        for sequence in 11...20 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: peer("right"))
        }
        #expect(await log.sequences(10) == Array(1...10))
        pair.wire.connect()
        pair.settle()
        #expect(await log.sequences(20) == Array(1...20))
    }

    @Test func `Messages that a peer sent before it closed arrive, although nothing can be sent to it`() async throws {
        let pair = try Pair()
        let (log, back) = (Log(pair.left.receiveEnvelopes()), Log(pair.right.receiveEnvelopes()))
        pair.wire.connect()
        pair.settle()
        pair.wire.hold()
        for sequence in 1...10 as ClosedRange<UInt64> {
            try await pair.right.send(envelope(sequence, from: "right"), mode: .reliableEventually, to: nil)
        }
        pair.wire.sever("left")
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        pair.wire.disconnectAfterWhatIsHeld()
        #expect(pair.left.health(of: peer("right")) == .gone)
        #expect(await log.sequences(10) == Array(1...10))
        pair.wire.connect()
        pair.settle()
        #expect(await back.sequences(1) == [1])
    }

    @Test func `A message that is sent while no peer is known waits for the first one`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        for sequence in 1...200 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        await #expect(throws: SessionSyncError.queueFull(limit: 200)) {
            try await pair.left.send(envelope(201), mode: .reliableEventually, to: nil)
        }
        pair.wire.connect()
        pair.settle()
        #expect(await log.sequences(200) == Array(1...200))
    }

    @Test func `The newest snapshot reaches a peer that comes late, and late subscribers`() async throws {
        let pair = try Pair()
        for revision in 1...3 as ClosedRange<UInt64> {
            try await pair.left.sendSnapshot(snapshot(revision), mode: .latestSnapshot, to: nil)
        }
        pair.wire.connect()
        pair.settle()
        #expect(pair.right.latestPeerSnapshot(featureID: "workout")?.revision == 3)
        let log = Log(pair.right.receiveSnapshots())
        #expect(await log.atLeast(1).map(\.revision) == [3])
    }

    @Test func `A full link makes a send wait until there is space`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        pair.wire.setRoom(0)
        let sending = Task {
            for sequence in 1...6000 as ClosedRange<UInt64> {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            }
        }
        for _ in 0..<1000 { await Task.yield() }
        pair.wire.setRoom(nil)
        for _ in 0..<100 {
            pair.settle(.milliseconds(20))
            for _ in 0..<100 { await Task.yield() }
        }
        try await sending.value
        pair.settle()
        #expect(await log.sequences(6000) == Array(1...6000))
    }

    @Test func `Invalid bytes end the connection, and no message is lost`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        pair.wire.inject([0, 1, 2, 3], into: "right")
        #expect(pair.right.health(of: peer("left")) == .gone)
        try await pair.left.send(envelope(2), mode: .reliableEventually, to: peer("right"))
        pair.wire.connect()
        pair.settle()
        #expect(await log.sequences(2) == [1, 2])
    }
}

/// The buffers between the last step of delivery and a subscriber.
@Suite struct BackpressureTests {
    @Test func `Without a subscriber the sender waits, and the first subscriber gets everything`() async throws {
        let pair = try Pair()
        pair.wire.connect()
        pair.settle()
        let sending = Task {
            for sequence in 1...10_000 as ClosedRange<UInt64> {
                try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            }
        }
        for _ in 0..<20 {
            for _ in 0..<1000 { await Task.yield() }
            pair.settle(.milliseconds(50))
        }
        let log = Log(pair.right.receiveEnvelopes())
        for _ in 0..<40 {
            for _ in 0..<1000 { await Task.yield() }
            pair.settle(.milliseconds(200))
        }
        try await sending.value
        #expect(await log.sequences(10_000) == Array(1...10_000))
    }

    @Test func `A feature's messages wait for its subscriber, even if other features subscribe earlier`() async throws {
        let pair = try Pair()
        pair.wire.connect()
        for sequence in 1...10 as ClosedRange<UInt64> {
            for feature in ["score", "timer"] {
                try await pair.left.send(envelope(sequence, feature: feature), mode: .reliableEventually, to: nil)
            }
        }
        pair.settle()
        let score = Log(batches: pair.right.envelopeBatches { $0.featureID == "score" })
        await eventually { score.all.joined().count >= 10 }
        let timer = Log(batches: pair.right.envelopeBatches { $0.featureID == "timer" })
        try await pair.left.send(envelope(11, feature: "timer"), mode: .reliableEventually, to: nil)
        await eventually { timer.all.joined().count >= 11 }
        #expect(score.all.joined().map(\.metadata.sequence) == Array(1...10))
        #expect(score.all.joined().allSatisfy { $0.metadata.featureID == "score" })
        #expect(timer.all.joined().map(\.metadata.sequence) == Array(1...11))
        #expect(timer.all.joined().allSatisfy { $0.metadata.featureID == "timer" })
    }

    @Test func `A subscriber that reads nothing delays the others for a limited time`() async throws {
        var configuration = DeliveryConfiguration()
        configuration.bufferLimit = 16
        let pair = try Pair(configuration: configuration)
        let idle = pair.right.receiveEnvelopes()
        let log = Log(pair.right.receiveEnvelopes())
        let events = Log(pair.right.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        for sequence in 1...100 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        #expect(await log.sequences(16) == Array(1...16))
        for _ in 0..<40 {
            pair.settle(.seconds(1))
            for _ in 0..<100 { await Task.yield() }
        }
        #expect(await log.sequences(100) == Array(1...100))
        let reported = await events.atLeast(3)
        #expect(reported.contains { if case .stalled("left", _) = $0 { true } else { false } })
        #expect(reported.contains { if case .subscriberFull(.envelopes, _) = $0 { true } else { false } })
        withExtendedLifetime(idle) {}
    }

    @Test func `A file transfer doesn't delay a tap`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        pair.wire.setRoom(0)
        let large = String(decoding: (0..<900_000).map { UInt8(97 + ($0 * 7919) % 23) }, as: UTF8.self)
        try await pair.left.send(envelope(1, feature: "file", text: large), mode: .reliableEventually, to: nil)
        pair.wire.setRoom(3)
        try await pair.left.send(envelope(1, feature: "tap"), mode: .reliableEventually, to: nil)
        try await pair.left.send(envelope(2, feature: "tap"), mode: .realtimeBestEffort, to: nil)
        pair.wire.setRoom(4)
        #expect(await log.atLeast(2).map(\.metadata.featureID) == ["tap", "tap"])
        pair.wire.setRoom(nil)
        pair.settle()
        #expect(await log.atLeast(3).map(\.metadata.featureID).sorted() == ["file", "tap", "tap"])
    }

    @Test func `A restarted peer gets the newest snapshot again`() async throws {
        let wire = MemoryWire()
        let pair = try Pair(wire)
        wire.connect()
        pair.settle()
        try await pair.left.sendSnapshot(snapshot(3), mode: .latestSnapshot, to: nil)
        pair.settle()
        #expect(pair.right.latestPeerSnapshot(featureID: "workout")?.revision == 3)
        await pair.right.close()
        let relaunched = try LinkTransport(
            localPeer: SessionPeer(id: "right", deviceClass: .unknown, appInstanceID: "2", topology: .sameHost),
            link: wire.right, clock: pair.clock)
        try relaunched.start()
        wire.connect()
        pair.settle(.seconds(1))
        #expect(relaunched.latestPeerSnapshot(featureID: "workout")?.revision == 3)
        await relaunched.close()
    }
}
