import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTransport
import Testing

/// What a transport makes of a link that proves who is there.
@Suite struct ProvenPeerTests {
    @Test(arguments: [SessionDeliveryMode.realtimeBestEffort, .reliableEventually])
    func `An event of somebody else is refused, and nothing beside it is lost`(mode: SessionDeliveryMode) async throws {
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
        let isReported = await diagnostics.has { event in
            if case .rejected("left", "it sent an event of 'phone' as if it were its own") = event {
                true
            } else {
                false
            }
        }
        #expect(isReported)
    }

    @Test func `A link that proves nothing carries what it is given`() async throws {
        let pair = try Pair()
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1, from: "phone"), mode: .realtimeBestEffort, to: nil)
        pair.settle()
        #expect(await log.sequences(1) == [1])
    }

    @Test func `A member's snapshot may tell of others' events`() async throws {
        let pair = try Pair(MemoryWire(provesPeers: true))
        let log = Log(pair.right.receiveSnapshots())
        pair.wire.connect()
        pair.settle()
        try await pair.left.sendSnapshot(snapshot(4, from: "phone"), mode: .realtimeBestEffort, to: nil)
        pair.settle()
        #expect(await log.atLeast(1).map(\.revision) == [4])
    }
}
