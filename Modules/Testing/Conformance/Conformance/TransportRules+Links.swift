import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport
import MeshWire

extension TransportConformance {
    /// Rules about links themselves.
    static let linkRules: [ConformanceRule<TransportBench>] = [
        ConformanceRule("link.lanes.offered", "There is at least one lane, and a packet of each has space for a frame")
        {
            bench in
            try await LinkBench.run(bench) { bench in
                try require(!bench.lanes.isEmpty, "there is no lane")
                for (lane, limit) in bench.lanes {
                    try require(
                        limit.bytes >= FrameFragmenter.datagramBytesMin,
                        "the lane \(lane.rawValue) takes \(limit.bytes) bytes, less than a frame needs")
                    try require(!limit.id.isEmpty, "the limit of the lane \(lane.rawValue) has no name")
                }
            }
        }.needs(.link),
        ConformanceRule("link.lanes.constant", "Lanes and limits don't change") { bench in
            guard let fixture = bench.links else { return }
            let links = try await LinkBench(bench, fixture)
            let before = links.lanes
            try links.open()
            let open = links.lanes
            try await links.meet()
            let connected = links.lanes
            await links.close()
            try requireEqual(open, before, "the lanes once open")
            try requireEqual(connected, before, "the lanes once connected")
            try requireEqual(links.lanes, before, "the lanes once closed")
        }.needs(.link),
        ConformanceRule("link.connected.once", "Each link reports the connection once") { bench in
            try await LinkBench.run(bench) { bench in
                await bench.settle()
                try requireEqual(bench.witnesses.map(\.connectionCount), [1, 1], "how often each said connected")
                try requireEqual(bench.witnesses.map(\.disconnectionCount), [0, 0], "how often each said disconnected")
            }
        }.needs(.link, .otherPeer, .liveLane),
        ConformanceRule("link.send.unopened", "A link that isn't open refuses sends with closed") { bench in
            guard let fixture = bench.links else { return }
            let links = try await LinkBench(bench, fixture)
            for lane in links.lanes.keys {
                try requireEqual(links.refusal([1], on: lane, to: "nobody"), .closed, "the refusal on \(lane.rawValue)")
            }
        }.needs(.link),
        ConformanceRule("link.send.unreachable", "A send to an unused address is refused with unreachable") {
            bench in
            try await LinkBench.run(bench) { bench in
                for lane in bench.lanes.keys {
                    let refusal = bench.refusal([1], on: lane, to: "an address that nobody has")
                    try requireEqual(refusal, .unreachable, "the refusal on \(lane.rawValue)")
                }
            }
        }.needs(.link),
        ConformanceRule("link.send.closed", "A closed link refuses sends with closed") { bench in
            try await LinkBench.run(bench) { bench in
                let address = try bench.address(at: 0)
                await bench.links[0].close()
                for lane in bench.lanes.keys {
                    try requireEqual(
                        bench.refusal([1], on: lane, to: address), .closed, "the refusal on \(lane.rawValue)")
                }
            }
        }.needs(.link),
        ConformanceRule("link.send.oversized", "A packet over its lane's limit is refused with oversized") { bench in
            try await LinkBench.run(bench) { bench in
                let address = try bench.address(at: 0)
                for (lane, limit) in bench.lanes {
                    let refusal = bench.refusal(Array(repeating: 7, count: limit.bytes + 1), on: lane, to: address)
                    try requireEqual(refusal, .oversized, "the refusal on \(lane.rawValue)")
                }
                await bench.settle()
                let counts = bench.lanes.keys.map { bench.witnesses[1].byteCount(on: $0) }
                try requireEqual(counts, bench.lanes.map { _ in 0 }, "the bytes that arrived on each lane")
            }
        }.needs(.link, .otherPeer),
        ConformanceRule("link.send.largest", "A packet as large as its lane's limit arrives whole") { bench in
            try await LinkBench.run(bench) { bench in
                for lane in bench.lanes.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                    let packet = pattern(bench.lanes[lane]?.bytes ?? 0, seed: 1)
                    // A datagram may be lost.
                    for _ in 0..<(lane == .datagram ? 20 : 1) { try await bench.send(packet, on: lane) }
                    try await bench.wait(for: "the packet on \(lane.rawValue)") {
                        bench.witnesses[1].byteCount(on: lane) >= packet.count
                    }
                    let found =
                        lane == .stream ? bench.witnesses[1].bytes(on: lane) : bench.witnesses[1].packets(on: lane)[0]
                    try require(found == packet, "what arrived on \(lane.rawValue) is not what was sent")
                }
            }
        }.needs(.link, .otherPeer),
        ConformanceRule("link.send.within-received", "A send during a call of the observer is accepted") { bench in
            guard let fixture = bench.links else { return }
            let links = try await LinkBench(bench, fixture) { group in
                let second = group.links[1]
                return [
                    LinkWitness(),
                    LinkWitness { [weak second] bytes, lane, address in
                        try? second?.send(LinkPacket(lane: lane, bytes: bytes), to: address)
                    },
                ]
            }
            try links.open()
            try await links.meet()
            let lane = links.lanes.keys.contains(.stream) ? LinkLane.stream : .queue
            let packet = pattern(50, seed: 2)
            for _ in 0..<20 { try await links.send(packet, on: lane) }
            try await links.wait(for: "twenty echoes") { links.witnesses[0].byteCount(on: lane) >= 1000 }
        }.needs(.link, .otherPeer, .orderedLane),
        ConformanceRule("link.stream.intact", "Every byte written to a stream is read once, in order") {
            bench in
            try await LinkBench.run(bench) { bench in
                try await sendStream(bench, from: 0)
                try await expectStream(bench, at: 1)
            }
        }.needs(.link, .otherPeer, .lane(.stream)),
        ConformanceRule("link.stream.both-ways", "Both ends write to a stream at once, and both read everything") {
            bench in
            try await LinkBench.run(bench) { bench in
                async let there: Void = sendStream(bench, from: 0)
                async let back: Void = sendStream(bench, from: 1)
                _ = try await (there, back)
                try await expectStream(bench, at: 0)
                try await expectStream(bench, at: 1)
            }
        }.needs(.link, .otherPeer, .lane(.stream)),
        ConformanceRule("link.datagram.whole", "A datagram arrives as it was sent, neither cut nor joined") {
            bench in
            try await LinkBench.run(bench) { bench in
                let limit = bench.lanes[.datagram]?.bytes ?? 0
                let sizes = [1, 2, limit / 2, limit - 1, limit] + Array(10..<60)
                let sent = Set(sizes.map { pattern($0, seed: UInt64($0)) })
                for _ in 0..<4 { for packet in sent { try await bench.send(packet, on: .datagram) } }
                try await bench.wait(for: "some of \(sent.count) datagrams") {
                    !bench.witnesses[1].packets(on: .datagram).isEmpty
                }
                await bench.settle()
                let strange = bench.witnesses[1].packets(on: .datagram).first { !sent.contains($0) }
                try require(strange == nil, "a datagram of \(strange?.count ?? 0) bytes arrived that nobody sent")
            }
        }.needs(.link, .otherPeer, .lane(.datagram)),
        ConformanceRule("link.lanes.apart", "A packet arrives on the lane on which it was sent") { bench in
            try await LinkBench.run(bench) { bench in
                let lanes = bench.lanes.keys.sorted { $0.rawValue < $1.rawValue }
                for (index, lane) in lanes.enumerated() {
                    let packet = Array(repeating: UInt8(index), count: 40)
                    for _ in 0..<(lane == .datagram ? 20 : 1) { try await bench.send(packet, on: lane) }
                }
                try await bench.wait(for: "something on every lane") {
                    lanes.allSatisfy { bench.witnesses[1].byteCount(on: $0) >= 40 }
                }
                for (index, lane) in lanes.enumerated() {
                    let isRight = bench.witnesses[1].bytes(on: lane).allSatisfy { $0 == UInt8(index) }
                    try require(isRight, "bytes of another lane arrived on \(lane.rawValue)")
                }
            }
        }.needs(.link, .otherPeer),
        ConformanceRule("link.full.writable", "After full, the link reports writable and accepts packets again") {
            bench in
            try await LinkBench.run(bench) { bench in
                let lane: LinkLane = bench.lanes.keys.contains(.stream) ? .stream : .queue
                let packet = pattern(min(bench.lanes[lane]?.bytes ?? 0, 16_384), seed: 3)
                for _ in 0..<500 { try await bench.send(packet, on: lane) }
                try await bench.wait(for: "\(500 * packet.count) bytes") {
                    bench.witnesses[1].byteCount(on: lane) >= 500 * packet.count
                }
            }
        }.needs(.link, .otherPeer, .orderedLane),
        ConformanceRule("link.disconnect.told", "Both sides are told when a connection ends") { bench in
            try await LinkBench.run(bench) { bench in
                bench.links[0].disconnect(try bench.address(at: 0))
                try await bench.wait(for: "both links to say disconnected") {
                    bench.witnesses.allSatisfy { $0.disconnectionCount >= 1 }
                }
            }
        }.needs(.link, .otherPeer, .lane(.stream)),
        ConformanceRule("link.disconnect.silent", "Between two connections nothing arrives on live lanes") { bench in
            try await LinkBench.run(bench) { bench in
                for _ in 0..<50 { for lane in bench.liveLanes { try await bench.send(pattern(60, seed: 4), on: lane) } }
                bench.links[1].disconnect(try bench.address(at: 1))
                try await bench.wait(for: "link 1 to say disconnected") { bench.witnesses[1].disconnectionCount >= 1 }
                for lane in bench.liveLanes {
                    _ = bench.refusal(pattern(60, seed: 5), on: lane, to: try bench.address(at: 0))
                }
                await bench.settle()
                try requireEqual(
                    bench.witnesses.map(\.strayCount), [0, 0], "packets that arrived while not connected")
            }
        }.needs(.link, .otherPeer, .lane(.stream)),
        ConformanceRule("link.reconnect.fresh", "Nothing of an earlier connection arrives on a new one") {
            bench in
            try await LinkBench.run(bench) { bench in
                guard let disconnect = bench.group.disconnect, bench.group.connect != nil else { return }
                for _ in 0..<50 { for lane in bench.liveLanes { try await bench.send(pattern(60, seed: 6), on: lane) } }
                try await disconnect()
                try await bench.wait(for: "both links to say disconnected") {
                    bench.witnesses.allSatisfy { $0.disconnectionCount >= 1 }
                }
                for witness in bench.witnesses { witness.forget() }
                try await bench.meet()
                for lane in bench.liveLanes { try await bench.send(pattern(90, seed: 7), on: lane) }
                try await bench.wait(for: "what was sent on the new connection") {
                    bench.witnesses[1].byteCount(on: bench.liveLanes[0]) > 0
                }
                await bench.settle()
                for lane in bench.liveLanes {
                    let bytes = bench.witnesses[1].bytes(on: lane)
                    let isNew = bytes == pattern(90, seed: 7) || (lane == .datagram && bytes.count % 90 == 0)
                    try require(isNew, "bytes of an earlier connection arrived on \(lane.rawValue)")
                }
            }
        }.needs(.link, .otherPeer, .liveLane),
        ConformanceRule(
            "link.namesakes",
            "Of two peers with one ID the later replaces the earlier, which returns when the later has gone"
        ) { bench in
            guard let fixture = bench.links else { return }
            try await namesakes(bench, fixture)
        }.needs(.link, .otherPeer, .liveLane, .thirdLink),
        ConformanceRule("link.close.flushed", "Packets accepted before closing still arrive") { bench in
            try await LinkBench.run(bench) { bench in
                let lane: LinkLane = bench.lanes.keys.contains(.stream) ? .stream : .queue
                for _ in 0..<40 { try await bench.send(pattern(1000, seed: 8), on: lane) }
                await bench.links[0].close()
                try await bench.wait(for: "40000 bytes") { bench.witnesses[1].byteCount(on: lane) >= 40_000 }
            }
        }.needs(.link, .otherPeer, .orderedLane),
        ConformanceRule("link.close.told", "When one side closes, the other reports disconnected") { bench in
            try await LinkBench.run(bench) { bench in
                await bench.links[0].close()
                try await bench.wait(for: "the other link to say disconnected") {
                    bench.witnesses[1].disconnectionCount >= 1
                }
            }
        }.needs(.link, .otherPeer, .lane(.stream)),
        ConformanceRule("link.close.silent", "A closed link makes no more calls, and can be closed again") { bench in
            try await LinkBench.run(bench) { bench in
                await bench.links[0].close()
                let count = bench.witnesses[0].callCount
                let address = try bench.address(at: 1)
                for lane in bench.lanes.keys { _ = bench.refusal(pattern(60, seed: 9), on: lane, to: address, from: 1) }
                await bench.settle()
                await bench.links[0].close()
                try requireEqual(bench.witnesses[0].callCount, count, "the calls of a link that was closed")
            }
        }.needs(.link, .otherPeer),
        ConformanceRule("link.close.released", "A closed link releases its observer") { bench in
            guard let fixture = bench.links else { return }
            let group = try await fixture.makeLinks(min(fixture.countMax, 2))
            bench.keep(group)
            weak var observer: LinkWitness?
            do {
                let witness = LinkWitness()
                observer = witness
                for link in group.links { try link.open(witness) }
                try await group.connect?()
                for link in group.links { await link.close() }
            }
            let isReleased = try await Patience(turns: fixture.patience).settle(by: group.settle) { observer == nil }
            try require(isReleased, "a closed link holds its observer")
        }.needs(.link),
        ConformanceRule("link.queue.kept", "Packets queued before the other side connects arrive whole and in order") {
            bench in
            try await keptPackets(bench, lane: .queue)
        }.needs(.link, .otherPeer, .lane(.queue)),
        ConformanceRule(
            "link.urgent.once", "Urgent packets arrive once and in order, and cost at most one wake if sent together"
        ) { bench in
            try await LinkBench.run(bench) { bench in
                // Just after a launch, a link may deliver an urgent packet twice: from its lane and from a wake.
                for _ in 0..<25 { await bench.settle() }
                let packets = (1...200).map { pattern($0, seed: 10) }
                let budget = bench.links[0].remainingWakes
                for packet in packets {
                    try await bench.send(packet, on: .queue, isUrgent: packet.count.isMultiple(of: 5))
                }
                try await bench.wait(for: "200 packets") { bench.witnesses[1].packets(on: .queue).count >= 200 }
                await bench.settle()
                let arrived = bench.witnesses[1].packets(on: .queue)
                try require(arrived == packets, "not every packet arrived once, in order")
                let spent = (budget ?? 0) - (bench.links[0].remainingWakes ?? 0)
                try require(0...1 ~= spent, "\(spent) wakes were spent")
            }
        }.needs(.link, .otherPeer, .lane(.queue)),
        ConformanceRule("link.file.kept", "A file sent before the other side connects arrives whole") {
            bench in
            try await keptPackets(bench, lane: .file)
        }.needs(.link, .otherPeer, .lane(.file)),
        ConformanceRule("link.latest.newest", "The newest packet of each key arrives, as that key's last one") {
            bench in
            guard let fixture = bench.links else { return }
            let links = try await LinkBench(bench, fixture)
            try links.links[0].open(links.witnesses[0])
            try await links.group.connect?()
            try await links.wait(for: "the other link to be found") { links.witnesses[0].address != nil }
            for value in 1...5 as ClosedRange<UInt8> {
                for key in 1...3 as ClosedRange<UInt8> {
                    try await links.send([key, value], on: .latest, key: "\(key)")
                }
            }
            try links.links[1].open(links.witnesses[1])
            try await links.group.connect?()
            func values(_ key: UInt8) -> [UInt8] {
                links.witnesses[1].packets(on: .latest).filter { $0.first == key }.map { $0[1] }
            }
            try await links.wait(for: "the newest of each key") { (1...3).allSatisfy { values($0).contains(5) } }
            await links.settle()
            await links.close()
            for key in 1...3 as ClosedRange<UInt8> {
                try requireEqual(values(key), values(key).sorted(), "the order of the packets of one key")
            }
        }.needs(.link, .otherPeer, .lane(.latest)),
        ConformanceRule(
            "link.peer.proven", "If the link proves identities, a peer can't send in another's name",
            check: impersonate
        ).needs(.link, .otherPeer, .liveLane, .provenPeers),
        ConformanceRule(
            "link.peer.greeting", "If the link proves identities, a peer can't greet in another's name on any lane"
        ) { bench in
            if let fixture = bench.links { try await greetAsAnother(bench, fixture) }
        }.needs(.link, .otherPeer, .provenPeers),
    ]

    /// Greets with an ID other than the proven one and sends in every mode: first unconnected, for lanes that keep
    /// packets, then connected.
    private static func greetAsAnother(_ bench: TransportBench, _ fixture: LinkFixture) async throws {
        let group = try await fixture.makeLinks(2)
        guard let peerIDs = group.peerIDs else { return }
        let ids = ["somebody else", peerIDs[1]]
        let ends = try zip(ids, group.links).map { id, link in
            let peer = SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "0", topology: .sameHost)
            return try LinkTransport(
                localPeer: peer, link: link, configuration: fixture.configuration, clock: group.clock)
        }
        bench.keep(ends)
        bench.keep(group)
        let envelopes = Recorder(ends[1].receiveEnvelopes())
        let snapshots = Recorder(ends[1].receiveSnapshots())
        for end in ends { try end.start() }
        let metadata = SessionSyncMetadata(
            sessionID: UUID(), featureID: "greeting", sourcePeerID: ids[0], sequence: 1, causalTimestamp: Date(),
            payloadType: "text")
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: "mine"))
        let snapshot = try AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: 1, state: "mine", peerSequenceVector: [:]))
        for isConnected in [false, true] {
            if isConnected { try await group.connect?() }
            for mode in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually] {
                try? await ends[0].send(envelope, mode: mode, to: nil)
            }
            try? await ends[0].sendSnapshot(snapshot, mode: .latestSnapshot, to: nil)
            for _ in 0..<50 { await group.settle() }
        }
        for end in ends { await end.close() }
        try require(ends[1].knownPeers.isEmpty, "a peer greeted as '\(ids[0])' and was believed")
        try require(envelopes.elements.isEmpty && snapshots.elements.isEmpty, "a peer spoke as '\(ids[0])'")
    }

    /// Sends messages in another peer's name in every mode, each followed by a message in the sender's own name.
    private static func impersonate(_ bench: TransportBench) async throws {
        try await bench.connect()
        let (sender, receiver) = (bench.first, bench.second)
        let envelopes = bench.record(receiver.receiveEnvelopes())
        let snapshots = bench.record(receiver.receiveSnapshots())
        let requests = bench.record(receiver.receiveSnapshotRequests())
        let other = SessionPeer(id: "somebody else", deviceClass: .unknown, appInstanceID: "0", topology: .unknown)
        for mode in [SessionDeliveryMode.realtimeBestEffort, .reliableEventually, .latestSnapshot] {
            // Best-effort messages may be lost.
            for sequence in 1...(mode == .realtimeBestEffort ? 20 : 1) as ClosedRange<UInt64> {
                for source in [other, sender.localPeer] {
                    let feature = "\(mode.rawValue) of \(source.id)"
                    let snapshot = try bench.snapshot(sequence, feature: feature, from: source)
                    try await sender.sendSnapshot(snapshot, mode: mode, to: nil)
                    guard mode != .latestSnapshot else { continue }
                    let envelope = try bench.envelope(sequence, feature: feature, from: source)
                    try await sender.send(envelope, mode: mode, to: nil)
                }
            }
            let own = "\(mode.rawValue) of \(sender.localPeer.id)"
            try await bench.wait(for: "what is the sender's own, by \(mode.rawValue)") {
                !snapshots.revisions(feature: own).isEmpty
                    && (mode == .latestSnapshot || !envelopes.sequences(feature: own).isEmpty)
            }
        }
        try requestSnapshotAs(other, bench)
        await bench.settle()
        let names = envelopes.elements.map(\.metadata.sourcePeerID) + snapshots.elements.map(\.metadata.sourcePeerID)
        try require(names.allSatisfy { $0 == sender.localPeer.id }, "a peer spoke for '\(other.id)' and was believed")
        try requireEqual(requests.elements.compactMap(\.requester?.id), [], "requests in somebody else's name")
    }

    private static func requestSnapshotAs(_ other: SessionPeer, _ bench: TransportBench) throws {
        let faults = try bench.faults()
        guard faults.lanes.contains(.stream) else { return }
        var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
        let request = WireSnapshotRequest(sessionID: bench.sessionID, requester: other)
        faults.inject(try encoder.encode(.snapshotRequest(request)), .stream)
    }

    private static func namesakes(_ bench: TransportBench, _ fixture: LinkFixture) async throws {
        let group = try await fixture.makeLinks(3)
        // Two links that prove their peer IDs can't share an ID.
        guard group.peerIDs == nil else { return }
        let ends = try group.links.enumerated().map { index, link in
            var configuration = fixture.configuration
            configuration.seed = UInt64(index)
            let peer = SessionPeer(
                id: index == 0 ? "host" : "guest", deviceClass: .unknown, appInstanceID: "\(index)",
                topology: .sameHost)
            return try LinkTransport(
                localPeer: peer, link: link, configuration: configuration, clock: group.clock)
        }
        bench.keep(ends)
        bench.keep(group)
        let host = ends[0]
        let events = Recorder(host.diagnosticEvents())
        func wait(for what: String, until condition: () -> Bool) async throws {
            guard try await Patience(turns: fixture.patience).settle(by: group.settle, until: condition) else {
                throw ConformanceFailure("waited in vain for \(what)")
            }
        }
        func isReachable(_ guest: LinkTransport) -> Bool {
            host.health(of: guest.localPeer) == .reachable && guest.health(of: host.localPeer) == .reachable
        }
        try ends[0].start()
        try ends[1].start()
        try await group.connect?()
        try await wait(for: "the first to be there") { isReachable(ends[1]) }
        try ends[2].start()
        try await group.connect?()
        try await wait(for: "word that one has taken the other's place") {
            events.elements.contains { if case .displaced("guest") = $0 { true } else { false } }
        }
        await ends[2].close()
        try await group.connect?()
        try await wait(for: "the first to be back") { isReachable(ends[1]) }
    }

    private static func keptPackets(_ bench: TransportBench, lane: LinkLane) async throws {
        guard let fixture = bench.links else { return }
        let links = try await LinkBench(bench, fixture)
        try links.links[0].open(links.witnesses[0])
        try await links.group.connect?()
        try await links.wait(for: "the other link to be found") { links.witnesses[0].address != nil }
        let sent = (1...30).map { pattern(10 * $0, seed: UInt64($0)) }
        for packet in sent { try await links.send(packet, on: lane) }
        try links.links[1].open(links.witnesses[1])
        try await links.group.connect?()
        try await links.wait(for: "30 packets") { links.witnesses[1].packets(on: lane).count >= 30 }
        await links.close()
        try require(links.witnesses[1].packets(on: lane) == sent, "what arrived is not what was sent, in order")
    }

    private static let streamSizes = [1, 2, 3, 100, 1000, 60_000, 1, 17, 30_000, 5]

    private static func streamPackets(_ bench: LinkBench) -> [[UInt8]] {
        let limit = bench.lanes[.stream]?.bytes ?? 0
        return (0..<5).flatMap { round in
            streamSizes.map { pattern(min($0, limit), seed: UInt64(round * 1000 + $0)) }
        }
    }

    private static func sendStream(_ bench: LinkBench, from end: Int) async throws {
        for packet in streamPackets(bench) { try await bench.send(packet, on: .stream, from: end) }
    }

    private static func expectStream(_ bench: LinkBench, at end: Int) async throws {
        let expected = Array(streamPackets(bench).joined())
        try await bench.wait(for: "\(expected.count) bytes at link \(end)") {
            bench.witnesses[end].byteCount(on: .stream) >= expected.count
        }
        await bench.settle()
        let found = bench.witnesses[end].bytes(on: .stream)
        try requireEqual(found.count, expected.count, "the number of bytes that arrived")
        let place = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        try require(place == nil, "the stream differs from what was written from byte \(place ?? 0) on")
    }

    private static func pattern(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
}
