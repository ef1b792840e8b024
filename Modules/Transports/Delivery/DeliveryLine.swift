import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// The bytes of one address: frames become packets, and what arrives becomes frames. Not safe by itself: `outgoing` is
/// used under the transport's lock, `incoming` under its own.
final class DeliveryLine: @unchecked Sendable {
    /// Writing.
    struct Outgoing: ~Copyable {
        /// Remembers identities and names, for the lane `stream`. nil while there is no connection.
        var encoder: FrameEncoder?
        /// For every other lane, and for what travels in pieces.
        var standalone: FrameEncoder
        var fragmenter: FrameFragmenter?
        /// Cut for the lane `stream`.
        var slicer = FrameFragmenter(limit: .streamPiece)
        /// Made and not sent yet.
        var packets = FirstInFirstOut<LinkPacket>()
        /// Pieces of one large frame on the lane `stream`.
        var pieces = FirstInFirstOut<[UInt8]>()
        /// Somebody sends on this line now.
        var isSending = false
        /// The link has no room; the first of `packets` is tried again when it says so.
        var isBlocked = false
        var isIdle: Bool { !isSending && !isBlocked }
        /// The link has said that it has room since the last packet was handed to it.
        var hasBecomeWritable = false
        /// A connection has begun or ended since the last packet was handed to the link.
        var hasBegunAnew = false
    }

    /// Reading.
    struct Incoming: ~Copyable {
        var stream: FrameStreamDecoder
        var standalone: FrameDecoder
        var reassembler = FrameReassembler()
        /// The stream cannot be read any more.
        var isDead = false
    }

    /// A packet of this size costs little more than a small one.
    static let flushBytes = 65_536
    /// Datagrams that are made in one turn.
    private static let datagramsTogether = 32

    var outgoing: Outgoing
    /// What is gathered for the lane `stream`.
    private var writer = WireWriter(capacity: 2 * flushBytes)
    let incoming: Locked<Incoming>
    private let setup: LineSetup

    init(_ setup: LineSetup) {
        self.setup = setup
        outgoing = Outgoing(
            standalone: setup.makeEncoder(interning: false),
            fragmenter: setup.datagramLimit.map { FrameFragmenter(limit: $0, firstMessage: setup.firstFragment) })
        incoming = Locked(
            Incoming(stream: setup.makeStreamDecoder(), standalone: FrameDecoder(codecs: setup.codecs)))
    }

    /// A connection begins.
    func beginWriting() {
        outgoing.encoder = setup.makeEncoder(interning: true)
        forgetUnsent()
    }

    func beginReading() {
        incoming.withLock { incoming in
            incoming.stream = setup.makeStreamDecoder()
            incoming.reassembler = FrameReassembler()
            incoming.isDead = false
        }
    }

    /// What live lanes have not taken is gone; what the platform is to keep waits.
    func forgetUnsent() {
        var packets = FirstInFirstOut<LinkPacket>()
        while let packet = outgoing.packets.takeFirst() { if !packet.lane.isLive { packets.append(packet) } }
        outgoing.packets = packets
        outgoing.pieces = FirstInFirstOut()
        outgoing.isBlocked = false
        outgoing.hasBegunAnew = true
        writer.reset()
    }
}

/// What every line of a transport has in common.
struct LineSetup {
    let codec: any PayloadCodec
    let codecs: CodecTable
    let compression: CompressionPolicy
    let datagramLimit: PayloadLimit?
    let streamBytes: Int
    /// Random, so that pieces of a former life are not taken for new ones.
    let firstFragment: UInt32

    func makeEncoder(interning: Bool) -> FrameEncoder {
        FrameEncoder(codec: codec, compression: compression, interning: interning)
    }

    func makeStreamDecoder() -> FrameStreamDecoder { FrameStreamDecoder(codecs: codecs) }
}

extension PayloadLimit {
    /// So much of a transfer passes before a tap may.
    static let streamPiece = PayloadLimit(
        id: "delivery.piece", bytes: 16_384, summary: "A piece of a large frame on a stream", source: "chosen")
}

// MARK: - Writing

extension DeliveryLine {
    /// Makes packets of the frames that the core wants sent next: one, or a few where lanes take turns.
    ///
    /// - Returns: messages that cannot be made frames, and why; they are not sent.
    func makePackets(
        _ core: inout DeliveryCore, for address: LinkAddress, _ now: DeliveryTime
    ) -> [(WireMessage, any Error)] {
        var refused: [(WireMessage, any Error)] = []
        while outgoing.packets.isEmpty, writer.count < Self.flushBytes {
            let isBusy = !outgoing.pieces.isEmpty
            guard let next = core.nextFrame(for: address, urgentOnly: isBusy, now) else {
                if let piece = outgoing.pieces.takeFirst() { writer.writeRaw(piece) }
                break
            }
            do {
                try write(next)
            } catch {
                refused.append((next.frame.message, error))
            }
            if next.isImmediate, !isBusy { writeMore(like: next, of: &core, for: address, &refused) }
            if isBusy, let piece = outgoing.pieces.takeFirst() { writer.writeRaw(piece) }
        }
        writer.bytes.forEachChunk(of: setup.streamBytes) { chunk in
            outgoing.packets.append(LinkPacket(lane: .stream, bytes: [UInt8](chunk)))
        }
        writer.reset()
        return refused
    }

    /// What goes to the link next: one packet, or datagrams of which each may be lost as well.
    func takePackets() -> [LinkPacket] {
        guard let first = outgoing.packets.takeFirst() else { return [] }
        var packets = [first]
        while first.lane == .datagram, outgoing.packets.first?.lane == .datagram,
            let packet = outgoing.packets.takeFirst()
        { packets.append(packet) }
        return packets
    }

    /// Writes what follows a frame that is now or never, as much as goes at once.
    private func writeMore(
        like first: DeliveryCore.Outgoing, of core: inout DeliveryCore, for address: LinkAddress,
        _ refused: inout [(WireMessage, any Error)]
    ) {
        // Where a platform keeps what a packet did not carry, the core has to know of each.
        guard first.lane == .stream || (first.lane == .datagram && core.settings.keptLane == nil) else { return }
        guard hasRoomForMore else { return }
        core.moreNow(for: address) { message in
            do {
                var next = first
                next.frame = WireFrame(message)
                try write(next)
            } catch {
                refused.append((message, error))
            }
            return hasRoomForMore
        }
    }

    private var hasRoomForMore: Bool {
        writer.count < Self.flushBytes && outgoing.pieces.isEmpty && outgoing.packets.count < Self.datagramsTogether
    }

    private func write(_ next: DeliveryCore.Outgoing) throws {
        let frame = next.frame
        switch next.lane {
        case .stream:
            if frame.message.payloadBytes > Self.flushBytes || (next.isBulk && frame.message.payloadBytes > 16_384) {
                let bytes = try outgoing.standalone.encode(frame.message, mark: frame.mark)
                for piece in try outgoing.slicer.fragments(of: bytes) { outgoing.pieces.append(piece) }
            } else if outgoing.encoder != nil {
                try outgoing.encoder?.append(frame.message, mark: frame.mark, to: &writer)
            }
        case .datagram:
            let bytes = try outgoing.standalone.encode(frame.message, mark: frame.mark)
            for piece in try outgoing.fragmenter?.fragments(of: bytes) ?? [] {
                outgoing.packets.append(LinkPacket(lane: .datagram, bytes: piece))
            }
        case .queue, .latest, .file:
            let bytes = try outgoing.standalone.encode(frame.message, mark: frame.mark)
            outgoing.packets.append(LinkPacket(lane: next.lane, bytes: bytes, key: next.key))
        }
    }
}

extension WireMessage {
    /// Of the payload, if it is in bytes; 0 otherwise.
    var payloadBytes: Int {
        switch self {
        case .envelope(let envelope): envelope.encodedByteCount ?? 0
        case .snapshot(let snapshot): (snapshot.encodedByteCount ?? 0) + (snapshot.checkpoint?.count ?? 0)
        case .hello, .snapshotRequest, .goodbye, .report: 0
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func forEachChunk(of size: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        while start < count {
            let end = Swift.min(start + size, count)
            body(UnsafeRawBufferPointer(rebasing: self[start..<end]))
            start = end
        }
    }
}

// MARK: - Reading

extension DeliveryLine {
    /// The message in one's own packet, if it holds one alone, which nobody acknowledges.
    func message(in packet: LinkPacket) -> WireMessage? {
        guard packet.lane == .datagram else { return nil }
        var reassembler = FrameReassembler()
        var decoder = FrameDecoder(codecs: setup.codecs)
        let frame = try? packet.bytes.withUnsafeBytes { bytes in
            try reassembler.receive(bytes, now: .zero).flatMap { try decoder.decodeFrame($0) }
        }
        guard let frame, frame.mark == nil else { return nil }
        return frame.message
    }

    /// The frames in what arrived.
    ///
    /// - Returns: the frames, and why nothing more can be read of a stream.
    func frames(
        in bytes: UnsafeRawBufferPointer, on lane: LinkLane, now: Duration
    ) -> (frames: [WireFrame], failure: WireError?) {
        incoming.withLock { incoming in
            var frames: [WireFrame] = []
            do throws(WireError) {
                switch lane {
                case .stream:
                    guard !incoming.isDead else { return ([], nil) }
                    incoming.stream.append(bytes)
                    while let frame = try incoming.stream.nextFrame() { frames.append(frame) }
                case .datagram:
                    guard let whole = try incoming.reassembler.receive(bytes, now: now) else { break }
                    if let frame = try incoming.standalone.decodeFrame(whole) { frames.append(frame) }
                case .queue, .latest, .file:
                    if let frame = try incoming.standalone.decodeFrame(bytes) { frames.append(frame) }
                }
                return (frames, nil)
            } catch {
                incoming.isDead = lane == .stream
                return (frames, error)
            }
        }
    }

    /// Nothing is left of a frame that has begun.
    var isAtFrameBoundary: Bool { incoming.withLock { $0.stream.isAtFrameBoundary } }
}
