import MeshBase
import MeshIdentity
import MeshTransport
import MeshWire

/// The codec state of one address: turns frames into packets, and received bytes into frames. Not thread-safe by
/// itself. The transport's lock protects `outgoing`; `incoming` has its own lock.
final class DeliveryLine: @unchecked Sendable {
    /// The writing side.
    struct Outgoing: ~Copyable {
        /// Encodes for the lane `stream`. Remembers identities and names. nil while there is no connection.
        var encoder: FrameEncoder?
        /// Encodes for the lane `datagram`.
        var datagrams: FrameEncoder
        /// Encodes for platform-kept lanes, and for frames that travel in pieces.
        var standalone: FrameEncoder
        var fragmenter: FrameFragmenter?
        /// Cuts large frames for the lane `stream`.
        var slicer = FrameFragmenter(limit: .streamPiece)
        /// Packets that aren't sent yet.
        var packets = FirstInFirstOut<LinkPacket>()
        /// Pieces of one large frame on the lane `stream`.
        var pieces = FirstInFirstOut<[UInt8]>()
        /// Frames that will share one datagram, while packets are made.
        var joined: [UInt8] = []
        /// Maximum number of bytes to join; 0 for a peer that reads only one frame per datagram.
        var joinedBytesMax = 0
        /// The parts of the compression policy that the connected peer reads.
        var readable: ReadableCompression = []
        /// True while a caller sends on this line.
        var isSending = false
        /// True if the link has no space. The first of `packets` is tried again when the link reports space.
        var isBlocked = false
        var isIdle: Bool { !isSending && !isBlocked }
        /// True if the link has reported space since the last packet was handed to it.
        var hasBecomeWritable = false
        /// True if a connection has begun or ended since the last packet was handed to the link.
        var connectionHasChanged = false
    }

    /// The reading side.
    struct Incoming: ~Copyable {
        var stream: FrameStreamDecoder
        var datagrams: FrameDecoder
        var standalone: FrameDecoder
        var reassembler = FrameReassembler()
        /// True after an error in the stream: it can't be read any more.
        var isDead = false
    }

    /// Number of bytes to collect for one packet. Such a packet costs little more than a small one.
    static let flushBytes = 65_536
    /// Maximum number of datagrams made in one turn.
    private static let datagramsTogether = 32
    /// Maximum number of bytes to join. A larger datagram would delay the ones after it.
    private static let joinedBytesMax = 8192

    var outgoing: Outgoing
    /// Collects bytes for the lane `stream`.
    private var writer = WireWriter(capacity: 2 * flushBytes)
    let incoming: Locked<Incoming>
    private let setup: LineSetup
    /// The epoch of the identity numbers in datagrams.
    private var epoch: UInt16

    init(_ setup: LineSetup) {
        self.setup = setup
        epoch = UInt16(truncatingIfNeeded: setup.firstFragment)
        outgoing = Outgoing(
            datagrams: setup.makeDatagramEncoder(epoch: epoch), standalone: setup.makeEncoder(interning: false),
            fragmenter: setup.datagramLimit.map { FrameFragmenter(limit: $0, firstMessage: setup.firstFragment) })
        incoming = Locked(
            Incoming(
                stream: setup.makeStreamDecoder(), datagrams: setup.makeDatagramDecoder(numbering: nil),
                standalone: setup.makeDecoder()))
    }

    func beginWriting() {
        outgoing.encoder = setup.makeEncoder(interning: true)
        epoch &+= 1
        outgoing.datagrams = setup.makeDatagramEncoder(epoch: epoch)
        forgetUnsent()
    }

    func beginReading() {
        incoming.withLock { incoming in
            incoming.stream = setup.makeStreamDecoder()
            incoming.datagrams = setup.makeDatagramDecoder(numbering: nil)
            incoming.reassembler = FrameReassembler()
            incoming.isDead = false
        }
    }

    /// Drops unsent packets of live lanes. Packets for kept lanes stay.
    func forgetUnsent() {
        var packets = FirstInFirstOut<LinkPacket>()
        while let packet = outgoing.packets.takeFirst() { if !packet.lane.isLive { packets.append(packet) } }
        outgoing.packets = packets
        outgoing.pieces = FirstInFirstOut()
        outgoing.isBlocked = false
        outgoing.connectionHasChanged = true
        writer.reset()
    }
}

/// The settings that all lines of a transport share.
struct LineSetup {
    let codec: any PayloadCodec
    let codecs: CodecTable
    let compression: CompressionPolicy
    let datagramLimit: PayloadLimit?
    let streamBytes: Int
    /// The first fragment number. Random, so that a receiver doesn't mix fragments of an earlier launch with new ones.
    let firstFragment: UInt32

    // Encoders begin with what every version of the app reads: a later launch may have another dictionary, or none.

    func makeEncoder(interning: Bool) -> FrameEncoder {
        var encoder = FrameEncoder(codec: codec, compression: compression, interning: interning)
        encoder.readable = []
        return encoder
    }

    func makeDatagramEncoder(epoch: UInt16) -> FrameEncoder {
        var encoder = FrameEncoder(datagramsOf: codec, compression: compression, epoch: epoch)
        encoder.readable = []
        return encoder
    }

    func makeStreamDecoder() -> FrameStreamDecoder {
        FrameStreamDecoder(codecs: codecs, dictionaries: compression.dictionaries, formats: compression.formats)
    }

    func makeDecoder() -> FrameDecoder {
        FrameDecoder(codecs: codecs, dictionaries: compression.dictionaries, formats: compression.formats)
    }

    func makeDatagramDecoder(numbering identities: SentIdentities?) -> FrameDecoder {
        FrameDecoder(
            codecs: codecs, dictionaries: compression.dictionaries, formats: compression.formats,
            numbering: identities)
    }
}

extension PayloadLimit {
    /// Maximum size of a piece of a large frame. More urgent frames go between two pieces.
    static let streamPiece = PayloadLimit(
        id: "delivery.piece", bytes: 16_384, summary: "A piece of a large frame on a stream", source: "chosen")
}

// MARK: - Writing

extension DeliveryLine {
    /// Makes packets of the core's next frames: usually one packet, or several datagrams.
    ///
    /// - Returns: messages that couldn't be encoded, with the error. They aren't sent.
    func makePackets(
        _ core: inout DeliveryCore, for address: LinkAddress, _ now: DeliveryTime
    ) -> [(WireFrame, any Error)] {
        var refused: [(WireFrame, any Error)] = []
        outgoing.joinedBytesMax =
            core.joinsFrames(at: address) ? min(outgoing.fragmenter?.datagramBytes ?? 0, Self.joinedBytesMax) : 0
        outgoing.datagrams.setKnownIdentities(core.knownIdentities(at: address))
        let readable = core.readableCompression(at: address)
        outgoing.readable = readable
        outgoing.encoder?.readable = readable
        outgoing.datagrams.readable = readable
        while outgoing.packets.isEmpty, writer.count < Self.flushBytes {
            let isBusy = !outgoing.pieces.isEmpty
            guard let next = core.nextFrame(for: address, urgentOnly: isBusy, now) else {
                if let piece = outgoing.pieces.takeFirst() { writer.writeRaw(piece) }
                break
            }
            do {
                try write(next)
            } catch {
                refused.append((next.frame, error))
            }
            if next.isImmediate, !isBusy { writeMore(like: next, of: &core, for: address, &refused) }
            if isBusy, let piece = outgoing.pieces.takeFirst() { writer.writeRaw(piece) }
        }
        writePiggybackedReport(of: &core, for: address, now, &refused)
        flushJoined()
        writer.bytes.forEachChunk(of: setup.streamBytes) { chunk in
            outgoing.packets.append(LinkPacket(lane: .stream, bytes: [UInt8](chunk)))
        }
        writer.reset()
        return refused
    }

    /// Adds a report that isn't due yet to the same write or the same datagram as the other frames.
    private func writePiggybackedReport(
        of core: inout DeliveryCore, for address: LinkAddress, _ now: DeliveryTime,
        _ refused: inout [(WireFrame, any Error)]
    ) {
        let lane: LinkLane
        if writer.count > 0 {
            lane = .stream
        } else if !outgoing.joined.isEmpty {
            lane = .datagram
        } else {
            return
        }
        guard let report = core.nextPiggybackedReport(for: address, on: lane, now) else { return }
        do {
            try write(report)
        } catch {
            refused.append((report.frame, error))
        }
    }

    /// Returns the next packets for the link: one, or several datagrams. Each datagram may be lost anyway.
    func takePackets() -> [LinkPacket] {
        guard let first = outgoing.packets.takeFirst() else { return [] }
        var packets = [first]
        while first.lane == .datagram, outgoing.packets.first?.lane == .datagram,
            let packet = outgoing.packets.takeFirst()
        { packets.append(packet) }
        return packets
    }

    /// Writes the best-effort frames that follow one, as many as fit at once.
    private func writeMore(
        like first: DeliveryCore.Outgoing, of core: inout DeliveryCore, for address: LinkAddress,
        _ refused: inout [(WireFrame, any Error)]
    ) {
        // With kept lanes, the core must learn each message of a packet that wasn't delivered.
        guard first.lane == .stream || (first.lane == .datagram && core.settings.keptLane == nil) else { return }
        guard hasSpaceForMore else { return }
        core.drainImmediate(for: address) { message in
            var next = first
            next.frame = WireFrame(message)
            do { try write(next) } catch { refused.append((next.frame, error)) }
            return hasSpaceForMore
        }
    }

    private var hasSpaceForMore: Bool {
        writer.count < Self.flushBytes && outgoing.pieces.isEmpty && outgoing.packets.count < Self.datagramsTogether
    }

    private func write(_ next: DeliveryCore.Outgoing) throws {
        let frame = next.frame
        switch next.lane {
        case .stream:
            if frame.message.payloadBytes > Self.flushBytes || (next.isBulk && frame.message.payloadBytes > 16_384) {
                outgoing.standalone.readable = outgoing.readable
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
            // An earlier version of the peer's app may be the one that takes the packet from the platform.
            outgoing.standalone.readable = []
            let bytes = try outgoing.standalone.encode(frame.message, mark: frame.mark)
            outgoing.packets.append(LinkPacket(lane: next.lane, bytes: bytes, key: next.key, isUrgent: next.isUrgent))
        }
    }

    /// Encodes a frame for a datagram. A frame that fails may have introduced an identity. Later frames must not rely
    /// on it, so they start a new datagram.
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
    /// Size of the payload in bytes; 0 if it isn't encoded.
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
    /// Returns the unnumbered messages in a packet that this side made; none for a fragment. Call it under the
    /// transport's lock.
    func messages(in packet: LinkPacket) -> [WireMessage] {
        guard packet.lane == .datagram else { return [] }
        var reassembler = FrameReassembler()
        var decoder = setup.makeDatagramDecoder(numbering: outgoing.datagrams.sentIdentities)
        var frames: [WireFrame] = []
        if let whole = try? reassembler.receive(packet.bytes, now: .zero) {
            try? decoder.decode(joined: whole, into: &frames)
        }
        return frames.filter { $0.mark == nil }.map(\.message)
    }

    /// Returns the frames in received bytes.
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
        /// The reply to send about the identities in the sender's datagrams.
        var identities: KnownIdentities?
        /// The reason that the rest of the packet or the stream can't be read.
        var failure: WireError?

        var isEmpty: Bool { frames.isEmpty && identities == nil && failure == nil }
    }

    /// True if the bytes received so far end with a complete frame.
    var isAtFrameBoundary: Bool { incoming.withLock { $0.stream.isAtFrameBoundary } }
}
