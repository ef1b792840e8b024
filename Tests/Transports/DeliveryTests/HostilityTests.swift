import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// Frames that no correct peer sends: numbers at the ends of their range, reports about messages never sent, floods.
@Suite struct HostilityTests {
    @Test(
        "Whatever a peer sends, the core doesn't trap and stays within its bounds", arguments: 0..<60 as Range<UInt64>)
    func anything(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var settings = DeliveryCore.Settings(
            lanes: [seed % 2 == 0 ? .stream : .datagram], codec: 2, codecs: [2])
        settings.isDurable = seed % 3 == 0
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        let lane: LinkLane = seed % 2 == 0 ? .stream : .datagram
        core.connected("link", as: nil, now)
        try core.receive(WireFrame(.hello(WireHello(peer: peer("right"), codecs: [2]))), on: lane, from: "link", now)
        for _ in 0..<2000 {
            now.elapsed += random.upTo(2_000_000_000)
            now.wall = random.happens(rate: 0.01) ? number(&random) : now.wall &+ 1
            core.availableCount = Int(random.upTo(3))
            switch random.upTo(5) {
            case 0:
                let item = DeliveryCore.Item(
                    message: .envelope(try encodedEnvelope(random.upTo(50) + 1, feature: feature(&random))),
                    byteCount: 100)
                _ = try? core.send(item, mode: .reliableEventually, to: nil, now)
            case 1: core.tick(now)
            case 2: while core.nextFrame(for: "link", now) != nil {}
            case 3:
                let changes = core.takeDirectives().changes
                if random.happens(rate: 0.5) {
                    core.stored(changes, now)
                } else {
                    core.notStored(changes, reason: "full", now)
                }
            default: try? core.receive(frame(&random), on: lane, from: "link", now)
            }
        }
        let right = try #require(core.peers.first)
        #expect(core.peers.count == 1)
        #expect(right.outstandingCount >= 0 && right.outstandingCount <= settings.queueLimit)
        #expect(right.outstandingBytes >= 0)
        #expect(right.incoming.count <= DeliveryPeer.channelsMax)
        for channel in right.incoming.values { #expect(channel.heldCount <= Int(IncomingChannel.window)) }
        for channel in right.channels { #expect(channel.inFlightCount >= 0 && channel.inFlightBytes >= 0) }
        let isBounded = core.isWithinBudgets
        #expect(isBounded)
    }

    /// Detects a missing bound, or a name that isn't checked, within its first seeds.
    @Test(
        "A hostile peer that floods can't send as another peer and fills no memory", arguments: 0..<10 as Range<UInt64>)
    func liar(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let lane: LinkLane = seed % 2 == 0 ? .stream : .datagram
        var settings = DeliveryCore.Settings(lanes: [lane], codec: 2, codecs: [2])
        settings.isDurable = seed % 3 == 0
        var core = DeliveryCore(localPeer: peer("left"), settings: settings, outbox: 1)
        var now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        func meet() throws {
            core.connected("link", as: "right", now)
            let hello = WireHello(peer: peer("right"), codecs: [2])
            try core.receive(WireFrame(.hello(hello)), on: lane, from: "link", now)
        }
        try meet()
        for _ in 0..<20 {
            now.elapsed += random.upTo(1_000_000_000)
            core.availableCount = random.happens(rate: 0.3) ? 0 : Int(random.upTo(5000))
            core.availableBytes = random.happens(rate: 0.3) ? 0 : Int(random.upTo(64 << 20))
            if random.happens(rate: 0.2) { core.tick(now) }
            do {
                for frame in try flood(&random) { try core.receive(frame, on: lane, from: "link", now) }
            } catch is WireError {
                core.disconnected("link", reason: nil, now)
                try meet()
            }
            let directives = core.takeDirectives()
            // The booleans are computed first: a failure prints its operands, and the core holds megabytes.
            let isOwn = directives.arrivals.flatMap(\.senderIDs).allSatisfy { $0 == "right" }
            let isBounded = core.isWithinBudgets
            #expect(isOwn)
            #expect(isBounded)
            if random.happens(rate: 0.5) {
                core.stored(directives.changes, now)
            } else {
                core.notStored(directives.changes, reason: "full", now)
            }
        }
    }

    /// One kind of message repeated with rising numbers, in one feature or in many.
    private func flood(_ random: inout SplitMix64) throws -> [WireFrame] {
        let source = ["right", "right", "phone", "left"][Int(random.upTo(3))]
        let payload = EncodedPayload(
            bytes: [UInt8](repeating: 1, count: [0, 14, 1000, 1_000_000][Int(random.upTo(3))]), codec: CompactCodec())
        let (kind, first, count) = (random.upTo(5), number(&random), random.upTo(1000))
        let (step, features, outbox) = (random.upTo(2), random.upTo(1100) + 1, UInt32(random.upTo(2)))
        return (0...count).map { index in
            let feature = "feature \(index % features)"
            let sequence = first &+ index &* step
            let metadata = metadata(sequence, feature: feature, from: source)
            let snapshot = AnySessionSyncSnapshot(
                metadata: metadata, revision: sequence, peerSequenceVector: ["phone": .max], state: payload)
            let envelope = AnySessionSyncEnvelope(metadata: metadata, payload: payload)
            let mark = WireMark(outbox: outbox, sequence: sequence, first: min(first, sequence))
            switch kind {
            case 0: return WireFrame(.snapshot(snapshot))
            case 1:
                let latest = WireMark(outbox: outbox, sequence: sequence, first: sequence, isLatest: true)
                return WireFrame(.snapshot(snapshot), mark: latest)
            case 2: return WireFrame(.snapshot(snapshot), mark: mark)
            case 3:
                return WireFrame(.snapshotRequest(WireSnapshotRequest(sessionID: sessionID, requester: peer(source))))
            case 4: return WireFrame(.envelope(envelope))
            default: return WireFrame(.envelope(envelope), mark: mark)
            }
        }
    }

    private func frame(_ random: inout SplitMix64) throws -> WireFrame {
        if random.happens(rate: 0.4) { return WireFrame(.report(report(&random))) }
        let envelope = try encodedEnvelope(random.upTo(100) + 1, feature: feature(&random))
        let sequence = number(&random)
        let mark = WireMark(
            outbox: UInt32(random.upTo(3)), sequence: sequence,
            first: random.happens(rate: 0.2) ? number(&random) : sequence - min(sequence, random.upTo(10)),
            expiresAt: random.happens(rate: 0.2) ? number(&random) : nil)
        return WireFrame(.envelope(envelope), mark: random.happens(rate: 0.9) ? mark : nil)
    }

    private func report(_ random: inout SplitMix64) -> WireReport {
        var report = WireReport()
        if random.happens(rate: 0.3) {
            report.probe = .init(number: UInt32(truncatingIfNeeded: number(&random)), sentAt: number(&random))
        }
        if random.happens(rate: 0.3) {
            report.echo = .init(
                probe: .init(number: UInt32(random.upTo(20)), sentAt: number(&random)), answeredAt: number(&random))
        }
        for _ in 0..<random.upTo(3) {
            let upTo = number(&random)
            let low = upTo.addingReportingOverflow(2 + random.upTo(5))
            let high = low.partialValue.addingReportingOverflow(random.upTo(5))
            report.receipts.append(
                .init(
                    featureID: feature(&random), outbox: UInt32(random.upTo(2)), upTo: upTo,
                    beyond: low.overflow || high.overflow ? [] : [low.partialValue...high.partialValue],
                    isLatest: random.happens(rate: 0.1)))
            report.floors.append(
                .init(featureID: feature(&random), outbox: UInt32(random.upTo(2)), first: number(&random)))
        }
        return report
    }

    private func feature(_ random: inout SplitMix64) -> String { "feature \(random.upTo(4))" }

    /// A number that is mostly small, and sometimes at an end of its range.
    private func number(_ random: inout SplitMix64) -> UInt64 {
        switch random.upTo(9) {
        case 0: 0
        case 1: .max - random.upTo(3)
        case 2: (1 << 62) - 2 + random.upTo(4)
        case 3: UInt64(Int64.max) - 2 + random.upTo(4)
        default: random.upTo(60)
        }
    }
}

extension DeliveryDirectives.Arrival {
    fileprivate var senderIDs: [String?] {
        switch self {
        case .envelope(let envelope), .durable(let envelope): [envelope.metadata.sourcePeerID]
        case .envelopes(let envelopes): envelopes.map(\.metadata.sourcePeerID)
        case .snapshot(let snapshot): [snapshot.metadata.sourcePeerID]
        case .request(let request): [request.requester?.id]
        case .reachability(let change): [change.peer?.id]
        }
    }
}
