import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

@testable import MeshDelivery
@testable import MeshTransport
@testable import MeshWire

private let now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)

private func payload(_ bytes: Int) -> EncodedPayload {
    EncodedPayload(bytes: [UInt8](repeating: 1, count: bytes), codec: CompactCodec())
}

private func peer(_ id: String) -> SessionPeer {
    SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
}

/// Returns a core, and a peer that has sent a hello.
private func met(on lane: LinkLane) throws -> DeliveryCore {
    let settings = DeliveryCore.Settings(lanes: [lane], codec: 2, codecs: [2])
    var core = DeliveryCore(localPeer: peer("self"), settings: settings, outbox: 1)
    core.connected("link", as: nil, now)
    try core.receive(WireFrame(.hello(WireHello(peer: peer("liar"), codecs: [2]))), on: lane, from: "link", now)
    _ = core.takeDirectives()
    return core
}

extension DeliveryCore {
    fileprivate mutating func receive(_ number: Int, _ feature: String, outbox: UInt32 = 1, bytes: Int = 1) throws {
        let envelope = AnySessionSyncEnvelope(metadata: metadata(number, feature: feature), payload: payload(bytes))
        let mark = WireMark(outbox: outbox, sequence: UInt64(number), first: 1)
        try receive(WireFrame(.envelope(envelope), mark: mark), on: .datagram, from: "link", now)
        _ = takeDirectives()
    }
}

extension Budget {
    func fillEarlyMessages() throws -> Any {
        var core = try met(on: .datagram)
        // The first message of each feature is missing.
        for feature in 0..<2 {
            for number in 2...4000 { try core.receive(number, "feature \(feature)", bytes: 14 << 10) }
        }
        return core
    }

    func fillMessageIDs() -> Any {
        var recent = RecentMessages()
        for number in 0..<2 * RecentMessages.limit {
            _ = recent.insert(MessageID(metadata(number, feature: text(number, bytes: nameBytes))))
        }
        return recent
    }

    func fillPeers() throws -> Any {
        let settings = DeliveryCore.Settings(lanes: [.stream], codec: 2, codecs: [2])
        var core = DeliveryCore(localPeer: peer("self"), settings: settings, outbox: 1)
        for number in 0..<2 * PeerBudget.peersMax {
            core.connected("link", as: nil, now)
            let liar = SessionPeer(
                id: text(number, bytes: nameBytes), deviceClass: .unknown,
                appInstanceID: text(number, bytes: nameBytes), userID: text(number, bytes: nameBytes),
                topology: .sameHost)
            try core.receive(WireFrame(.hello(WireHello(peer: liar, codecs: [2]))), on: .stream, from: "link", now)
            core.disconnected("link", reason: nil, now)
            _ = core.takeDirectives()
        }
        return core
    }

    func fillChannels() throws -> Any {
        var core = try met(on: .datagram)
        for number in 0..<2 * DeliveryPeer.channelsMax {
            let outbox = UInt32(1 + number % (2 * DeliveryPeer.outboxesMax))
            try core.receive(1, text(number, bytes: nameBytes), outbox: outbox)
        }
        for number in 0..<2 * DeliveryPeer.channelsMax {
            let snapshot = AnySessionSyncSnapshot(
                metadata: metadata(number, feature: text(number, bytes: nameBytes)), revision: 1,
                peerSequenceVector: [:], state: payload(1))
            let mark = WireMark(outbox: 1, sequence: 1, first: 1, isLatest: true)
            try core.receive(WireFrame(.snapshot(snapshot), mark: mark), on: .datagram, from: "link", now)
            _ = core.takeDirectives()
        }
        return core
    }

    func fillOwed() throws -> Any { try fillSending(.reliableEventually) }

    func fillUnsent() throws -> Any { try fillSending(.realtimeBestEffort) }

    /// The app sends, and the peer accepts nothing.
    private func fillSending(_ mode: SessionDeliveryMode) throws -> Any {
        var core = try met(on: .stream)
        for number in 0..<5000 {
            let bytes = 14 << 10
            let envelope = AnySessionSyncEnvelope(metadata: metadata(number, peer: "self"), payload: payload(bytes))
            let item = DeliveryCore.Item(message: .envelope(envelope), byteCount: bytes)
            guard case .accepted? = try? core.send(item, mode: mode, to: nil, now) else { break }
            _ = core.takeDirectives()
        }
        return core
    }

    func fillGuests() -> Any {
        var guests = Guests()
        for session in 0..<2 * Guests.sessionsMax {
            let named = Set((0..<2 * Guests.peersMax).map { text($0, bytes: nameBytes) })
            let scope = Guests.Scope(sessionID: metadata(0).sessionID, featureID: text(session, bytes: nameBytes))
            _ = guests.admit(named, to: scope)
        }
        return guests
    }

    func fillUnread() -> Any {
        let inbox = TransportInbox()
        for number in 0..<5000 {
            let metadata = metadata(
                number, feature: text(number, bytes: nameBytes), peer: text(number, bytes: nameBytes),
                type: text(number, bytes: nameBytes))
            inbox.deliver([AnySessionSyncEnvelope(metadata: metadata, payload: payload(16 << 10))], isDurable: true)
        }
        return inbox
    }

    func fillNewest() -> Any {
        let inbox = TransportInbox()
        for number in 0..<2 * inbox.featureLimit {
            let metadata = metadata(
                number, feature: text(number, bytes: nameBytes), peer: text(number, bytes: nameBytes),
                type: text(number, bytes: nameBytes))
            inbox.deliver(
                AnySessionSyncSnapshot(
                    metadata: metadata, revision: 1, peerSequenceVector: [:], state: payload(255 << 10)))
        }
        return inbox
    }

    /// Fills in the first pieces of frames that are never completed.
    func fillPieces() throws -> Any {
        var reassembler = FrameReassembler()
        var fragmenter = FrameFragmenter(limit: PayloadLimit(id: "test", bytes: 100, summary: "", source: "test"))
        for _ in 0..<2 * reassembler.framesMax {
            let pieces = try fragmenter.fragments(of: [UInt8](repeating: 1, count: 256 << 10))
            _ = try reassembler.receive(pieces[0], now: .zero)
        }
        return reassembler
    }

    /// Fills in all but the last bytes of the largest frame, after pieces of others.
    func fillFrame() throws -> Any {
        let holder = Holder(FrameStreamDecoder(codecs: try CodecTable([CompactCodec()])))
        var fragmenter = FrameFragmenter(limit: PayloadLimit(id: "test", bytes: 100, summary: "", source: "test"))
        for _ in 0..<8 {
            let pieces = try fragmenter.fragments(of: [UInt8](repeating: 1, count: 255 << 10))
            holder.decoder.append(pieces[0])
            _ = try holder.decoder.next()
        }
        var encoder = FrameEncoder(codec: CompactCodec(), interning: false)
        let frame = try encoder.encode(
            .envelope(AnySessionSyncEnvelope(metadata: metadata(0), payload: payload((1 << 20) - 1024))))
        for start in stride(from: 0, to: frame.count - 1, by: 1 << 16) {
            holder.decoder.append(Array(frame[start..<min(start + 1 << 16, frame.count - 1)]))
            _ = try holder.decoder.next()
        }
        return holder
    }
}

/// A decoder can't be copied, so an `Any` can't hold it directly.
private final class Holder {
    var decoder: FrameStreamDecoder

    init(_ decoder: consuming FrameStreamDecoder) { self.decoder = decoder }
}
