import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

/// Behavior of a transport over a link that proves the identity of each peer.
@Suite struct ProvenPeerTests {
    @Test(arguments: [SessionDeliveryMode.realtimeBestEffort, .reliableEventually])
    func `An event that names another sender is refused, and no other event is lost`(mode: SessionDeliveryMode)
        async throws
    {
        let pair = try Pair(MemoryWire(provesPeers: true))
        let log = Log(pair.right.receiveEnvelopes())
        let diagnostics = Log(pair.right.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: mode, to: nil)
        try await pair.left.send(envelope(2, from: "phone"), mode: mode, to: nil)
        try await pair.left.send(envelope(3), mode: mode, to: nil)
        pair.settle(.seconds(10))
        #expect(await log.sequences(2) == [1, 3])
        #expect(await diagnostics.refused("it sent an event that names 'phone' as its sender"))
    }

    @Test func `A link without proof delivers any sender's messages`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1, from: "phone"), mode: .realtimeBestEffort, to: nil)
        pair.settle()
        #expect(await log.sequences(1) == [1])
    }

    @Test(
        "A snapshot of another source is rejected, and no other message is lost",
        arguments: [
            SessionDeliveryMode.realtimeBestEffort, .reliableEventually, .latestSnapshot,
        ])
    func snapshotOfAnother(mode: SessionDeliveryMode) async throws {
        let pair = try Pair(MemoryWire(provesPeers: true))
        let log = Log(pair.right.receiveSnapshots())
        let diagnostics = Log(pair.right.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        try await pair.left.sendSnapshot(snapshot(1, feature: "own"), mode: mode, to: nil)
        try await pair.left.sendSnapshot(snapshot(2, feature: "forged", from: "phone"), mode: mode, to: nil)
        try await pair.left.sendSnapshot(snapshot(3, feature: "later"), mode: mode, to: nil)
        pair.settle(.seconds(10))
        #expect(await log.atLeast(2).map(\.revision) == [1, 3])
        #expect(pair.right.latestPeerSnapshot(featureID: "forged") == nil)
        #expect(await diagnostics.refused("it sent a snapshot that names 'phone' as its sender"))
        // Its number counts as received, so the sender doesn't repeat it.
        pair.wire.disconnect()
        pair.wire.connect()
        pair.settle(.seconds(10))
        let count = diagnostics.all.count { if case .rejected = $0 { true } else { false } }
        #expect(count == 1)
    }

    @Test
    func `A request that names another requester is rejected, and other requests have the proven peer`()
        async throws
    {
        let pair = try Pair(MemoryWire(provesPeers: true))
        let log = Log(pair.right.receiveSnapshotRequests())
        let diagnostics = Log(pair.right.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        for requester in [peer("phone"), peer("left"), nil] {
            var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
            let request = WireSnapshotRequest(sessionID: sessionID, requester: requester)
            pair.wire.inject(try encoder.encode(.snapshotRequest(request)), into: "right")
        }
        pair.settle()
        #expect(await log.atLeast(2).map(\.requester?.id) == ["left", "left"])
        #expect(await diagnostics.refused("it sent a request that names 'phone' as its sender"))
    }

    @Test func `A member's own snapshot may include others' events`() async throws {
        let pair = try Pair(MemoryWire(provesPeers: true))
        let log = Log(pair.right.receiveSnapshots())
        pair.wire.connect()
        pair.settle()
        var sent = try snapshot(4)
        sent.peerSequenceVector["phone"] = 7
        try await pair.left.sendSnapshot(sent, mode: .realtimeBestEffort, to: nil)
        pair.settle()
        #expect(await log.atLeast(1).map(\.peerSequenceVector) == [["left": 4, "phone": 7]])
    }
}

extension Log where Element == SessionDiagnosticEvent {
    /// Waits until a message from 'left' has been rejected for the given reason.
    func refused(_ reason: String) async -> Bool {
        await has { if case .rejected("left", reason) = $0 { true } else { false } }
    }
}
