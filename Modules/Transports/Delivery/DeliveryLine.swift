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
        /// For the lane `datagram`.
        var datagrams: FrameEncoder
        /// For lanes that the platform keeps, and for what travels in pieces.
        var standalone: FrameEncoder
        var fragmenter: FrameFragmenter?
        /// Cut for the lane `stream`.
        var slicer = FrameFragmenter(limit: .streamPiece)
        /// Made and not sent yet.
        var packets = FirstInFirstOut<LinkPacket>()
        /// Pieces of one large frame on the lane `stream`.
        var pieces = FirstInFirstOut<[UInt8]>()
        /// Frames that leave in one datagram, while packets are made.
        var joined: [UInt8] = []
        /// The most that may be joined; 0 towards a peer that reads one frame from each datagram.
        var joinedBytesMax = 0
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
        var datagrams: FrameDecoder
        var standalone: FrameDecoder
        var reassembler = FrameReassembler()
        /// The stream cannot be read any more.
        var isDead = false
    }

    /// A packet of this size costs little more than a small one.
    static let flushBytes = 65_536
    /// Datagrams that are made in one turn.
    private static let datagramsTogether = 32
    /// A larger datagram would delay what comes after it.
    private static let joinedBytesMax = 8192

    var outgoing: Outgoing
    /// What is gathered for the lane `stream`.
    private var writer = WireWriter(capacity: 2 * flushBytes)
    let incoming: Locked<Incoming>
    private let setup: LineSetup
    /// Of the numbers in datagrams.
    private var epoch: UInt16

    init(_ setup: LineSetup) {
        self.setup = setup
        epoch = UInt16(truncatingIfNeeded: setup.firstFragment)
        outgoing = Outgoing(
            datagrams: setup.makeDatagramEncoder(epoch: epoch), standalone: setup.makeEncoder(interning: false),
            fragmenter: setup.datagramLimit.map { FrameFragmenter(limit: $0, firstMessage: setup.firstFragment) })
        incoming = Locked(
            Incoming(
                stream: setup.makeStreamDecoder(), datagrams: FrameDecoder(codecs: setup.codecs, numbering: nil),
                standalone: FrameDecoder(codecs: setup.codecs)))
    }

    /// A connection begins.
    func beginWriting() {
        outgoing.encoder = setup.makeEncoder(interning: true)
        epoch &+= 1
        outgoing.datagrams = setup.makeDatagramEncoder(epoch: epoch)
        forgetUnsent()
    }

    func beginReading() {
        incoming.withLock { incoming in
            incoming.stream = setup.makeStreamDecoder()
            incoming.datagrams = FrameDecoder(codecs: setup.codecs, numbering: nil)
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

    func makeDatagramEncoder(epoch: UInt16) -> FrameEncoder {
        FrameEncoder(datagramsOf: codec, compression: compression, epoch: epoch)
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
        outgoing.joinedBytesMax =
            core.joinsFrames(at: address) ? min(outgoing.fragmenter?.datagramBytes ?? 0, Self.joinedBytesMax) : 0
        outgoing.datagrams.setKnownIdentities(core.knownIdentities(at: address))
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
        writeRider(of: &core, for: address, now, &refused)
        flushJoined()
        writer.bytes.forEachChunk(of: setup.streamBytes) { chunk in
            outgoing.packets.append(LinkPacket(lane: .stream, bytes: [UInt8](chunk)))
        }
        writer.reset()
        return refused
    }

    /// A report that isn't due yet leaves with what leaves anyway: in the same write, or in the same datagram.
    private func writeRider(
        of core: inout DeliveryCore, for address: LinkAddress, _ now: DeliveryTime,
        _ refused: inout [(WireMessage, any Error)]
    ) {
        let lane: LinkLane
        if writer.count > 0 {
            lane = .stream
        } else if !outgoing.joined.isEmpty {
            lane = .datagram
        } else {
            return
        }
        guard let rider = core.nextRider(for: address, on: lane, now) else { return }
        do {
            try write(rider)
        } catch {
            refused.append((rider.frame.message, error))
        }
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
            var bytes = try encodeDatagram(frame)
            if !outgoing.joined.isEmpty, outgoing.joined.count + bytes.count > outgoing.joinedBytesMax {
                flushJoined()
                bytes = try encodeDatagram(frame)
            }
            guard bytes.count > outgoing.joinedBytesMax else {
                outgoing.joined += bytes
                return
            }
            outgoing.datagrams.beginDatagram()
            for piece in try outgoing.fragmenter?.fragments(of: bytes) ?? [] {
                outgoing.packets.append(LinkPacket(lane: .datagram, bytes: piece))
            }
        case .queue, .latest, .file:
            let bytes = try outgoing.standalone.encode(frame.message, mark: frame.mark)
            outgoing.packets.append(LinkPacket(lane: next.lane, bytes: bytes, key: next.key))
        }
    }

    /// A frame that can't be made may have introduced an identity, on which none after it may rely.
    private func encodeDatagram(_ frame: WireFrame) throws -> [UInt8] {
        do { return try outgoing.datagrams.encode(frame.message, mark: frame.mark) } catch {
            flushJoined()
            outgoing.datagrams.beginDatagram()
            throw error
        }
    }

    private func flushJoined() {
        guard !outgoing.joined.isEmpty else { return }
        outgoing.packets.append(LinkPacket(lane: .datagram, bytes: outgoing.joined))
        outgoing.joined = []
        outgoing.datagrams.beginDatagram()
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
    /// The messages without a mark in a packet of this side's. A fragment has none. Called under the transport's lock.
    func messages(in packet: LinkPacket) -> [WireMessage] {
        guard packet.lane == .datagram else { return [] }
        var reassembler = FrameReassembler()
        var decoder = FrameDecoder(codecs: setup.codecs, numbering: outgoing.datagrams.sentIdentities)
        var frames: [WireFrame] = []
        if let whole = try? reassembler.receive(packet.bytes, now: .zero) {
            try? decoder.decode(joined: whole, into: &frames)
        }
        return frames.filter { $0.mark == nil }.map(\.message)
    }

    /// The frames in what arrived.
    func frames(in bytes: UnsafeRawBufferPointer, on lane: LinkLane, now: Duration) -> Arrival {
        incoming.withLock { incoming in
            var arrival = Arrival()
            do throws(WireError) {
                switch lane {
                case .stream:
                    guard !incoming.isDead else { return arrival }
                    incoming.stream.append(bytes)
                    while let frame = try incoming.stream.nextFrame() { arrival.frames.append(frame) }
                case .datagram:
                    guard let whole = try incoming.reassembler.receive(bytes, now: now) else { break }
                    defer { arrival.identities = incoming.datagrams.takeKnownIdentities() }
                    try incoming.datagrams.decode(joined: whole, into: &arrival.frames)
                case .queue, .latest, .file:
                    if let frame = try incoming.standalone.decodeFrame(bytes) { arrival.frames.append(frame) }
                }
            } catch {
                incoming.isDead = lane == .stream
                arrival.failure = error
            }
            return arrival
        }
    }

    /// The content of a packet.
    struct Arrival {
        var frames: [WireFrame] = []
        /// The answer to the identities in its sender's datagrams.
        var identities: KnownIdentities?
        /// Why no more of it can be read, or of a stream.
        var failure: WireError?

        var isEmpty: Bool { frames.isEmpty && identities == nil && failure == nil }
    }

    /// Nothing is left of a frame that has begun.
    var isAtFrameBoundary: Bool { incoming.withLock { $0.stream.isAtFrameBoundary } }
}
