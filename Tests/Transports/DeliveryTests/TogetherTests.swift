import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

/// Best-effort events that are sent, and arrive, in batches. A check made once per batch must hold for each event.
@Suite struct TogetherTests {
    private static let lanes: [[LinkLane: PayloadLimit]] = [
        [.stream: .deliveryMessage], [.datagram: ScenarioDatagram.limit],
        [.datagram: ScenarioDatagram.limit, .stream: .deliveryMessage],
    ]

    @Test(arguments: lanes)
    func `Messages sent together arrive once and in order`(lanes: [LinkLane: PayloadLimit]) async throws {
        let pair = try Pair(MemoryWire(lanes: lanes))
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        try await pair.left.send((1...300).map { try envelope($0) }, mode: .realtimeBestEffort, to: nil)
        try await pair.left.send((301...500).map { try envelope($0) }, mode: .realtimeBestEffort, to: peer("right"))
        pair.settle()
        #expect(await log.sequences(500) == Array(1...500))
    }

    @Test(arguments: lanes)
    func `A message that names another sender is rejected, and no other is lost`(
        lanes: [LinkLane: PayloadLimit]
    ) async throws {
        let pair = try Pair(MemoryWire(lanes: lanes, provesPeers: true))
        let log = Log(pair.right.receiveEnvelopes())
        let diagnostics = Log(pair.right.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        let events = try (1...9 as ClosedRange<UInt64>).map { try envelope($0, from: $0 == 5 ? "phone" : "left") }
        try await pair.left.send(events, mode: .realtimeBestEffort, to: nil)
        pair.settle()
        #expect(await log.sequences(8) == [1, 2, 3, 4, 6, 7, 8, 9])
        #expect(await diagnostics.refused("it sent an event that names 'phone' as its sender"))
    }

    @Test(arguments: lanes)
    func `A link that fills up midway gets the rest later, in order`(
        lanes: [LinkLane: PayloadLimit]
    ) async throws {
        let pair = try Pair(MemoryWire(lanes: lanes))
        let log = Log(pair.right.receiveEnvelopes())
        pair.wire.connect()
        pair.settle()
        pair.wire.setRoom(5)
        for part in 0..<10 as Range<UInt64> {
            let events = try (1...20 as ClosedRange<UInt64>).map { try envelope(20 * part + $0) }
            try await pair.left.send(events, mode: .realtimeBestEffort, to: nil)
        }
        pair.wire.setRoom(7)
        pair.wire.setRoom(nil)
        pair.settle()
        #expect(await log.sequences(200) == Array(1...200))
    }
}

private enum ScenarioDatagram {
    static let limit = PayloadLimit(id: "test.datagram", bytes: 1200, summary: "a datagram", source: "chosen")
}
