import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Fills everything that a peer can make this side hold up to its bound, and beyond.
@Suite struct BudgetTests {
    @Test func `A flood of early numbers holds at most its bytes, and no accepted message is lost`() throws {
        var meeting = try Meeting(on: .datagram)
        let features = (0..<DeliveryPeer.channelsMax).map { "feature \($0)" }
        for feature in features {
            for number in 2...170 as ClosedRange<UInt64> { try meeting.receive(number, feature: feature) }
        }
        let held = meeting.peer.heldBytes
        let bound = PeerBudget.Holding.messages.bytesMax
        #expect(held <= bound && held > bound - SessionSyncMetadata.fixedBytes - 500)
        #expect(meeting.peer.budget[.messages] == held)
        let taken = features.map { feature in (feature, meeting.heldCount(of: feature)) }
        // The missing messages arrive, then the refused ones.
        for feature in features { try meeting.receive(1, feature: feature) }
        #expect(meeting.peer.budget[.messages] == 0)
        for (feature, count) in taken { #expect(meeting.delivered[feature] == Array(1...UInt64(count + 1))) }
        for (feature, count) in taken where count < 169 {
            for number in UInt64(count + 2)...170 { try meeting.receive(number, feature: feature) }
            #expect(meeting.delivered[feature] == Array(1...170))
        }
    }

    @Test func `On a stream a flood ends the connection, and the next one continues without loss`() throws {
        var meeting = try Meeting(on: .stream)
        let error = #expect(throws: WireError.self) {
            for number in 2...4000 as ClosedRange<UInt64> {
                try meeting.receive(number, feature: "flood", bytes: 1 << 20)
            }
        }
        #expect(error?.code == .oversized)
        #expect(meeting.peer.heldBytes <= PeerBudget.Holding.messages.bytesMax)
        try meeting.reconnect(.stream)
        try meeting.receive(1, feature: "flood")
        #expect(meeting.delivered["flood"] == Array(1...UInt64(meeting.delivered["flood"]?.count ?? 0)))
        #expect(meeting.peer.heldBytes == 0)
    }

    @Test func `Refused and expired messages don't fill memory`() throws {
        var meeting = try Meeting(on: .datagram, provenID: "right")
        for index in 0..<DeliveryPeer.channelsMax {
            for number in 2...170 as ClosedRange<UInt64> {
                try meeting.receive(number, feature: "feature \(index)", from: "somebody else")
            }
        }
        #expect(meeting.peer.heldBytes <= PeerBudget.Holding.messages.bytesMax)
        #expect(meeting.peer.budget[.messages] == meeting.peer.heldBytes)
        #expect(meeting.delivered.isEmpty)
    }

    @Test func `Early messages of a lost outbox make space for the next outbox`() throws {
        var meeting = try Meeting(on: .datagram)
        for number in 2...100 as ClosedRange<UInt64> {
            try meeting.receive(number, feature: "workout", bytes: 1 << 20, outbox: 1)
        }
        try meeting.receive(2, feature: "workout", bytes: 1 << 20, outbox: 2)
        try meeting.receive(1, feature: "workout", outbox: 2)
        #expect(meeting.delivered["workout"] == [1, 2])
    }

    @Test func `Messages that wait for the store count against the same budget`() throws {
        var meeting = try Meeting(on: .datagram, isDurable: true)
        for number in 1...200 as ClosedRange<UInt64> {
            try meeting.receive(number, feature: "workout", bytes: 1 << 20)
        }
        let bound = PeerBudget.Holding.messages.bytesMax
        #expect(meeting.peer.budget[.messages] <= bound && meeting.peer.budget[.messages] > bound - (2 << 20))
        #expect(meeting.peer.unstoredBytes == meeting.peer.budget[.messages])
        let waiting = meeting.core.takeDirectives().changes
        meeting.core.stored(waiting, meeting.now)
        #expect(meeting.peer.budget[.messages] == 0)
    }

    @Test func `Messages that wait for the store never exceed the subscribers' space`() throws {
        var meeting = try Meeting(on: .stream, isDurable: true)
        for number in 1...100 as ClosedRange<UInt64> {
            meeting.core.availableCount = 10
            try meeting.receive(number, feature: "workout")
        }
        let first = meeting.core.takeDirectives().changes
        #expect(first.count == 10)
        meeting.core.availableCount = 0
        meeting.core.stored(first, meeting.now)
        #expect(meeting.core.takeDirectives().isStalled)
        meeting.core.availableCount = 5
        meeting.core.tick(meeting.now)
        #expect(meeting.core.takeDirectives().changes.count { if case .received = $0 { true } else { false } } == 5)
        let isBounded = meeting.core.isWithinBudgets
        #expect(isBounded)
    }

    @Test func `The store keeps a peer's newest snapshots up to their limit`() throws {
        var meeting = try Meeting(on: .stream, isDurable: true)
        var keptCount = 0
        for feature in 0..<300 {
            let frame = try largeSnapshot(1, feature: "feature \(feature)", bytes: 1_000_000)
            try meeting.core.receive(frame, on: .stream, from: "link", meeting.now)
            let directives = meeting.core.takeDirectives()
            keptCount += directives.changes.count { if case .newest = $0 { true } else { false } }
            #expect(directives.arrivals.count == 1)
        }
        #expect(meeting.peer.budget[.snapshots] <= PeerBudget.Holding.snapshots.bytesMax)
        #expect(keptCount == PeerBudget.Holding.snapshots.bytesMax / (1_000_100 + SessionSyncMetadata.fixedBytes))
        // A newer snapshot takes the space of an earlier one.
        let again = try largeSnapshot(2, feature: "feature 0", bytes: 1_000_000)
        try meeting.core.receive(again, on: .stream, from: "link", meeting.now)
        #expect(meeting.core.takeDirectives().changes.count == 1)
    }

    @Test func `Best-effort messages wait for a peer that reads nothing, up to the limit in bytes`() throws {
        var meeting = try Meeting(on: .stream)
        let bytes = EncodedPayload(bytes: [UInt8](repeating: 1, count: 1_000_000), codec: CompactCodec())
        var takenCount = 0
        for sequence in 1...200 as ClosedRange<UInt64> {
            let envelope = AnySessionSyncEnvelope(metadata: metadata(sequence), payload: bytes)
            let item = DeliveryCore.Item(message: .envelope(envelope), byteCount: 1_000_000)
            let admission = try meeting.core.send(item, mode: .realtimeBestEffort, to: nil, meeting.now)
            if case .accepted = admission { takenCount += 1 }
        }
        // The last accepted message may exceed the limit in bytes.
        #expect(takenCount == PeerBudget.immediateBytesMax / (1_000_000 + SessionSyncMetadata.fixedBytes) + 1)
        // Waiting senders are resumed once half of it has been sent.
        _ = meeting.core.takeDirectives()
        var sentCount = 0
        while !meeting.core.directives.resumesWaiters, meeting.core.nextFrame(for: "link", meeting.now) != nil {
            sentCount += 1
        }
        #expect(sentCount > 30 && sentCount < 40)
    }

    @Test func `Receipts that don't fit a report stay due for the next one`() throws {
        var meeting = try Meeting(on: .datagram)
        let features = (0..<WireReport.entriesMax).map { "feature \($0)" }
        let states = (0..<10).map { "state \($0)" }
        for feature in features { try meeting.receive(1, feature: feature) }
        // The first feature needs several receipts.
        for gap in 1...2 * UInt64(WireReport.Receipt.rangesMax) {
            try meeting.receive(1 + 2 * gap, feature: features[0])
        }
        for state in states {
            let frame = try largeSnapshot(1, feature: state, bytes: 1)
            try meeting.core.receive(frame, on: .datagram, from: "link", meeting.now)
        }
        meeting.now.elapsed += 1_000_000_000
        var counts: [Int] = []
        var acknowledged: Set<String> = []
        while let next = meeting.core.nextFrame(for: "link", meeting.now) {
            guard case .report(let report) = next.frame.message else { continue }
            counts.append(report.receipts.count)
            acknowledged.formUnion(report.receipts.map(\.featureID))
        }
        #expect(counts.count == 2 && counts.allSatisfy { $0 <= WireReport.entriesMax })
        #expect(acknowledged == Set(features + states))
        #expect(meeting.peer.reportAt == .max)
    }

    @Test func `The number of remembered peers is bounded, and a peer with waiting messages stays`() throws {
        let settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        let now = DeliveryTime(elapsed: 1, wall: 1)
        for number in 0..<2 * PeerBudget.peersMax {
            core.connected("link", as: nil, now)
            let hello = WireFrame(.hello(WireHello(peer: peer("peer \(number)"), codecs: [2])))
            try core.receive(hello, on: .stream, from: "link", now)
            if number == 0 {
                let item = DeliveryCore.Item(message: .envelope(try envelope(1)), byteCount: 100)
                _ = try core.send(item, mode: .reliableEventually, to: "peer 0", now)
            }
            core.disconnected("link", reason: nil, now)
        }
        #expect(core.peers.count == PeerBudget.peersMax)
        #expect(core.peers.first?.peer.id == "peer 0")
        #expect(core.peers.last?.peer.id == "peer \(2 * PeerBudget.peersMax - 1)")
    }

    @Test func `A name longer than the limit is refused by the sender and by the receiver`() async throws {
        let pair = try Pair()
        pair.wire.connect()
        pair.settle()
        let long = String(repeating: "n", count: PeerBudget.nameBytesMax + 1)
        let expected = SessionSyncError.payloadTooLarge(
            bytes: long.utf8.count, limit: PeerBudget.nameBytesMax, limitID: "wire.identifier")
        await #expect(throws: expected) {
            try await pair.left.send(envelope(1, feature: long), mode: .reliableEventually, to: nil)
        }
        await #expect(throws: expected) {
            try await pair.left.sendSnapshot(snapshot(1, feature: long), mode: .latestSnapshot, to: nil)
        }
        var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
        let frame = try encoder.encode(.envelope(envelope(1, feature: long)))
        var decoder = FrameDecoder(codecs: try CodecTable([CompactCodec()]))
        do {
            _ = try frame.withUnsafeBytes { try decoder.decodeFrame($0) }
            Issue.record("the frame was read")
        } catch {
            #expect((error as? WireError)?.code == .oversized)
        }
    }

    private func largeSnapshot(_ version: UInt64, feature: String, bytes: Int) throws -> WireFrame {
        let state = EncodedPayload(bytes: [UInt8](repeating: 1, count: bytes), codec: CompactCodec())
        let snapshot = AnySessionSyncSnapshot(
            metadata: metadata(version, feature: feature, from: "right"), revision: version, peerSequenceVector: [:],
            state: state)
        return WireFrame(
            .snapshot(snapshot), mark: WireMark(outbox: 1, sequence: version, first: version, isLatest: true))
    }
}

/// A core that is connected to one peer.
private struct Meeting {
    var core: DeliveryCore
    var delivered: [String: [UInt64]] = [:]
    var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
    private let lane: LinkLane
    private let provenID: String?
    private var payloads: [Int: EncodedPayload] = [:]

    init(on lane: LinkLane, provenID: String? = nil, isDurable: Bool = false) throws {
        self.lane = lane
        self.provenID = provenID
        var settings = DeliveryCore.Settings(lanes: [lane], codec: 2, codecs: [2])
        settings.isDurable = isDurable
        core = DeliveryCore(localPeer: MeshDeliveryTests.peer("left"), settings: settings, outbox: 1)
        try reconnect(lane)
    }

    var peer: DeliveryPeer { core.peers[0] }

    mutating func reconnect(_ lane: LinkLane) throws {
        core.connected("link", as: provenID, now)
        let hello = WireHello(peer: MeshDeliveryTests.peer("right"), codecs: [2])
        try core.receive(WireFrame(.hello(hello)), on: lane, from: "link", now)
        _ = core.takeDirectives()
    }

    func heldCount(of feature: String) -> Int {
        core.peers[0].incoming[ChannelKey(outbox: 1, featureID: feature)]?.heldCount ?? 0
    }

    mutating func receive(
        _ number: UInt64, feature: String, from source: String = "right", bytes: Int = 14, outbox: UInt32 = 1
    ) throws {
        let payload =
            payloads[bytes] ?? EncodedPayload(bytes: [UInt8](repeating: 1, count: bytes), codec: CompactCodec())
        payloads[bytes] = payload
        // A restarted outbox sends other events.
        let sequence = number + UInt64(outbox) << 32
        let envelope = AnySessionSyncEnvelope(
            metadata: metadata(sequence, feature: feature, from: source), payload: payload)
        let mark = WireMark(outbox: outbox, sequence: number, first: 1)
        try core.receive(WireFrame(.envelope(envelope), mark: mark), on: lane, from: "link", now)
        guard !core.settings.isDurable else { return }
        for arrival in core.takeDirectives().arrivals {
            guard case .durable(let envelope) = arrival else { continue }
            delivered[envelope.metadata.featureID, default: []].append(envelope.metadata.sequence & 0xFFFF_FFFF)
        }
    }
}
