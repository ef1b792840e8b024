import MeshBase
import MeshFoundation
import MeshIdentity
import MeshTransport
import MeshWire

extension TransportConformance {
    /// Rules about garbage, packet loss, repeated events and clocks that jump.
    static let hostilityRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule(
            "transport.garbage.ends-connection",
            "Garbage on a stream ends the connection and reaches no subscriber; the next connection works"
        ) { bench in
            let faults = try bench.faults()
            let peer = bench.first.localPeer.id
            let received = bench.record(bench.second.receiveEnvelopes())
            let changes = bench.record(bench.second.reachabilityChanges())
            func announced() -> [Bool] { changes.elements.filter { $0.peer?.id == peer }.map(\.isReachable) }
            var sequence: UInt64 = 0
            for (index, garbage) in Self.garbage.enumerated() {
                try await bench.connect()
                try await bench.wait(for: "the peer to be reported as reachable") { announced().last == true }
                sequence += 1
                try await bench.send(sequence...sequence)
                faults.inject(garbage, .stream)
                try await bench.wait(for: "the end of the connection after nonsense \(index)") {
                    announced().last == false
                }
                faults.cut()
            }
            try await bench.connect()
            try await bench.wait(for: "\(sequence) envelopes") { received.count >= Int(sequence) }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...sequence), "what arrived")
        }.needs(.otherPeer, .faults, .lane(.stream)),
        ConformanceRule(
            "transport.garbage.packets", "Garbage in a packet reaches no subscriber, and valid packets still arrive"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let snapshots = bench.record(bench.second.receiveSnapshots())
            let requests = bench.record(bench.second.receiveSnapshotRequests())
            var random = SplitMix64(seed: 4)
            for sequence in 1...50 as ClosedRange<UInt64> {
                try await bench.send(sequence...sequence)
                for lane in [LinkLane.datagram, .queue, .latest] where faults.lanes.contains(lane) {
                    for garbage in Self.garbage { faults.inject(garbage, lane) }
                    faults.inject((0..<random.upTo(200)).map { _ in UInt8(random.upTo(255)) }, lane)
                }
            }
            try await bench.wait(for: "50 envelopes") { received.count >= 50 }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...50), "the order of arrival")
            try requireEqual([snapshots.count, requests.count], [0, 0], "snapshots and requests that nobody sent")
        }.unless { bench in
            let lanes = bench.pair.faults?.lanes ?? []
            return lanes.isDisjoint(with: [.datagram, .queue, .latest]) ? "the link has no packet lane" : nil
        },
        ConformanceRule(
            "transport.garbage.forged-greeting", "A peer can't claim to be another peer, or the local one"
        ) { bench in
            let faults = try bench.faults()
            guard let lane = [LinkLane.stream, .datagram].first(where: { faults.lanes.contains($0) }) else { return }
            try await bench.connect()
            let known = bench.second.knownPeers.map(\.id)
            let stranger = SessionPeer(
                id: "stranger", deviceClass: .unknown, appInstanceID: "0", topology: .unknown)
            for peer in [stranger, bench.second.localPeer] {
                let hello = WireMessage.hello(WireHello(peer: peer, codecs: Array(0...255)))
                var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
                let frame = try encoder.encode(hello)
                let limit = PayloadLimit(id: "garbage", bytes: 1000, summary: "", source: "")
                var fragmenter = FrameFragmenter(limit: limit)
                let packets = lane == .stream ? [frame] : try fragmenter.fragments(of: frame)
                for packet in packets { faults.inject(packet, lane) }
                await bench.settle()
                try requireEqual(bench.second.knownPeers.map(\.id), known, "who is known")
                faults.cut()
                try await bench.connect()
            }
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.send(1...1)
            try await bench.wait(for: "the envelope of the true peer") { received.count >= 1 }
        }.needs(.otherPeer, .faults, .liveLane),
        ConformanceRule(
            "transport.loss.reliable",
            "Lost, duplicated and reordered packets neither lose nor repeat a reliable message"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            faults.disturb(0.3)
            try await bench.send(1...150)
            try await bench.send(1...150, feature: "other")
            try await bench.wait(for: "300 envelopes") { received.count >= 300 }
            await bench.settle()
            try requireEqual(received.sequences(), Array(1...150), "the order of the one feature")
            try requireEqual(received.sequences(feature: "other"), Array(1...150), "the order of the other")
        }.needs(.otherPeer, .faults, .lane(.datagram)),
        ConformanceRule(
            "transport.loss.large", "A message of many packets arrives whole even if some of them are lost"
        ) { bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            faults.disturb(0.05)
            let text = incompressible(min(bench.pair.limit?.bytes ?? .max, 8000) / 2)
            for sequence in 1...10 as ClosedRange<UInt64> {
                try await bench.first.send(bench.envelope(sequence, text: text), mode: .reliableEventually, to: nil)
            }
            try await bench.wait(for: "ten envelopes") { received.count >= 10 }
            try requireEqual(received.sequences(), Array(1...10), "the order of arrival")
            try require(
                try received.elements.allSatisfy { try $0.decodePayload(as: [String].self) == [text] },
                "a payload has changed")
        }.needs(.otherPeer, .faults, .lane(.datagram)),
        ConformanceRule("transport.loss.snapshot", "The newest snapshot arrives even if packets are lost") { bench in
            let faults = try bench.faults()
            try await bench.connect()
            faults.disturb(0.5)
            for revision in 1...20 as ClosedRange<UInt64> { try await bench.publish(revision) }
            try await bench.wait(for: "revision 20") {
                bench.second.latestPeerSnapshot(featureID: "workout")?.revision == 20
            }
        }.needs(.otherPeer, .faults, .lane(.datagram)),
        ConformanceRule("transport.loss.greeting", "Peers connect even if packets are lost from the beginning") {
            bench in
            try bench.faults().disturb(0.5)
            let received = bench.record(bench.second.receiveEnvelopes())
            try await bench.connect()
            try await bench.send(1...5)
            try await bench.wait(for: "five envelopes") { received.count >= 5 }
        }.needs(.otherPeer, .faults, .lane(.datagram)),
        ConformanceRule("transport.clock.jumps", "Nothing is lost, late or out of order when the wall clock jumps") {
            bench in
            let faults = try bench.faults()
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let changes = bench.record(bench.first.reachabilityChanges())
            let jumps = [31_536_000, -63_072_000, -1, 1_600_000_000, -1_500_000_000, 1].map { Duration.seconds($0) }
            var sequence: UInt64 = 0
            for jump in jumps {
                faults.jumpClock(jump)
                try await bench.send(sequence + 1...sequence + 10)
                try await bench.publish(sequence + 1)
                sequence += 10
                await bench.settle()
            }
            try await bench.wait(for: "60 envelopes") { received.count >= 60 }
            try requireEqual(received.sequences(), Array(1...60), "the order of arrival")
            try await bench.wait(for: "the newest snapshot") {
                bench.second.latestPeerSnapshot(featureID: "workout")?.revision == 51
            }
            try require(!changes.elements.contains { !$0.isReachable }, "a peer was announced as gone")
        }.needs(.otherPeer, .faults),
        ConformanceRule("transport.once.event", "An event that the caller sends twice arrives once") { bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            let twice = try bench.envelope(1)
            for _ in 0..<2 { try await bench.first.send(twice, mode: .reliableEventually, to: nil) }
            try await bench.send(2...2)
            try await bench.wait(for: "the later envelope") { received.sequences().contains(2) }
            await bench.settle()
            try requireEqual(received.sequences(), [1, 2], "what arrived")
        }.needs(.otherPeer, .faults),
        ConformanceRule("transport.urgent.once", "An event that is marked as urgent arrives once and in its order") {
            bench in
            try await bench.connect()
            let received = bench.record(bench.second.receiveEnvelopes())
            for number in 1...3 {
                let envelope = try bench.envelope(UInt64(number))
                bench.first.expedite(eventID: envelope.metadata.eventID, featureID: envelope.metadata.featureID)
                try await bench.first.send(envelope, mode: .reliableEventually, to: nil)
            }
            try await bench.wait(for: "three envelopes") { received.count >= 3 }
            await bench.settle()
            try requireEqual(received.sequences(), [1, 2, 3], "what arrived")
        },
    ]

    /// Bytes that can't begin a frame: zeros, an HTTP request, ones and noise.
    static let garbage: [[UInt8]] = {
        var random = SplitMix64(seed: 3)
        let noise: [UInt8] = (0..<300).map { _ in UInt8(random.upTo(255)) }
        let web: [UInt8] = Array("GET / HTTP/1.1\r\nHost: mesh\r\n\r\n".utf8)
        let ones = [UInt8](repeating: 0xFF, count: 64)
        return [[0, 0, 0, 0], web, ones, noise]
    }()
}
