import MeshBase
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Frames that are sent in one packet, and reports that are sent with them.
@Suite struct JoiningTests {
    /// The messages of each packet that an end has sent.
    private func sent(_ wire: MemoryWire, from address: LinkAddress) throws -> [[WireMessage]] {
        var decoder = FrameDecoder(codecs: try CodecTable([CompactCodec()]), numbering: nil)
        return try wire.takeSent().filter { $0.from == address }.map { packet, _ in
            var frames: [WireFrame] = []
            try decoder.decode(joined: packet.bytes, into: &frames)
            return frames.map(\.message)
        }
    }

    /// Two connected peers, over datagrams of the size that is safe on any network.
    private func pair(_ earlierVersions: Set<CoreWorld.Side> = []) throws -> Pair {
        let pair = try Pair(MemoryWire(lanes: [.datagram: .udpSafe]), earlierVersions: earlierVersions)
        pair.wire.connect()
        pair.settle()
        _ = pair.wire.takeSent()
        return pair
    }

    @Test func `Messages that wait together are sent in as few datagrams as possible`() async throws {
        let pair = try pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.setRoom(0)
        for sequence in 1...30 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        pair.wire.setRoom(nil)
        let packets = try sent(pair.wire, from: "left")
        #expect(packets.reduce(0) { $0 + $1.count } == 30)
        #expect(packets.count <= 5, "\(packets.map(\.count))")
        #expect(await log.sequences(30) == Array(1...30))
    }

    @Test(arguments: [[.left], [.right], [.left, .right]] as [Set<CoreWorld.Side>])
    func `With a peer of an earlier version each datagram has one frame`(earlier: Set<CoreWorld.Side>) async throws {
        let pair = try pair(earlier)
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.setRoom(0)
        for sequence in 1...30 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
        }
        pair.wire.setRoom(nil)
        pair.settle()
        let packets = try sent(pair.wire, from: "left")
        #expect(packets.allSatisfy { $0.count == 1 })
        #expect(await log.sequences(30) == Array(1...30))
    }

    @Test(arguments: [[], [.right]] as [Set<CoreWorld.Side>])
    func `An envelope for the next send leaves with it`(earlier: Set<CoreWorld.Side>) async throws {
        let pair = try pair(earlier)
        let log = Log(pair.right.receiveEnvelopes())
        for sequence in 1...2 as ClosedRange<UInt64> {
            #expect(pair.left.sendWithNext([try envelope(sequence)], to: nil))
        }
        #expect(pair.wire.takeSent().isEmpty)
        #expect(pair.left.shell.state.withLock { $0.heldAddresses.count } == 1)
        try await pair.left.send(envelope(3), mode: .realtimeBestEffort, to: nil)
        #expect(try sent(pair.wire, from: "left").map(\.count) == (earlier.isEmpty ? [3] : [1, 1, 1]))
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    @Test func `Without a next send it leaves with the next sign of life`() async throws {
        let pair = try pair()
        let log = Log(pair.right.receiveEnvelopes())
        #expect(pair.left.sendWithNext([try envelope(1)], to: peer("right")))
        pair.settle(.seconds(30))
        #expect(await log.sequences(1) == [1])
    }

    @Test func `An envelope that can't be sent isn't accepted for the next send`() async throws {
        let pair = try pair()
        #expect(!pair.left.sendWithNext([try envelope(1)], to: peer("stranger")))
        await pair.left.close()
        #expect(!pair.left.sendWithNext([try envelope(1)], to: nil))
    }

    @Test func `A message that needs several datagrams isn't joined with others`() async throws {
        let pair = try pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.setRoom(0)
        let large = String(decoding: (0..<5000).map { UInt8(97 + ($0 * 7919) % 23) }, as: UTF8.self)
        for (sequence, text) in [(1, "small"), (2, large), (3, "small")] as [(UInt64, String)] {
            try await pair.left.send(envelope(sequence, text: text), mode: .reliableEventually, to: nil)
        }
        pair.wire.setRoom(nil)
        let packets = pair.wire.takeSent().filter { $0.from == "left" }.map(\.packet)
        #expect(packets.allSatisfy { $0.bytes.count <= PayloadLimit.udpSafe.bytes })
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    @Test(arguments: [LinkLane.stream, .datagram])
    func `An acknowledgement is sent with an answer`(lane: LinkLane) async throws {
        let pair = try Pair(MemoryWire(lanes: [lane: .udpSafe]))
        pair.wire.connect()
        pair.settle()
        _ = pair.wire.takeSent()
        for sequence in 1...10 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence), mode: .reliableEventually, to: nil)
            try await pair.right.send(envelope(sequence, from: "right"), mode: .reliableEventually, to: nil)
            pair.settle(.milliseconds(50))
        }
        let packets = pair.wire.takeSent().filter { $0.from == "right" }
        #expect(packets.count == 10)
    }

    @Test func `A report that doesn't fit waits for space`() async throws {
        let pair = try pair()
        let log = Log(pair.right.receiveEnvelopes())
        try await pair.left.send(envelope(1), mode: .reliableEventually, to: nil)
        pair.wire.setRoom(0)
        // The clock would never run out of calls if each call requested another one at once.
        pair.settle(.seconds(60))
        #expect(pair.clock.pendingCount <= 8)
        pair.wire.setRoom(nil)
        pair.settle(.seconds(15))
        #expect(pair.left.health(of: peer("right")) == .reachable)
        #expect(await log.sequences(1) == [1])
        #expect(!pair.left.isAwaitingAnswers)
    }

    @Test func `Joined messages that a link reports as undelivered are each sent on the other lane`() async throws {
        let wire = KeptWire([.datagram, .queue])
        let clock = ManualClock()
        let (left, right) = (try wire.launch("left", clock), try wire.launch("right", clock))
        wire.connect()
        clock.advance(by: .seconds(1))
        wire.isDeaf = true
        wire.reportsUndelivered = true
        let log = Log(right.receiveEnvelopes())
        try await left.send((1...5).map { try envelope($0) }, mode: .realtimeBestEffort, to: nil)
        clock.advance(by: .milliseconds(100))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
    }
}
