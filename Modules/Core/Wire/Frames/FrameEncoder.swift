public import MeshIdentity

/// Turns messages into frames. One for each connection, or one for all datagrams of a sender.
///
/// Noncopyable, because what it remembers of a connection must agree with what the reader at the other end has seen:
/// every frame that it returns must be sent, in that order, once. A message for which it throws leaves no trace.
public struct FrameEncoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds a class that is not: the class is private to this one owner.
    private let codec: any PayloadCodec
    private let closing: FrameClosing
    private var table: InterningTable
    private var names: NameTable

    /// Creates an encoder for the frames of one connection.
    ///
    /// - Parameters:
    ///   - codec: writes payloads that are still values; encoded ones keep the codec in which they arrived.
    ///   - interning: remembers identities (session, feature, source, payload type), at most 63, and field names of
    ///     `compact`, at most 1024 of up to 32 bytes, so that later frames give their numbers. Only where every frame
    ///     arrives, once and in order; the reader is `FrameStreamDecoder`.
    public init(
        codec: any PayloadCodec, compression: CompressionPolicy = .zlib(), interning: Bool = false,
        limits: FrameLimits = FrameLimits()
    ) {
        self.codec = interning ? (codec as? CompactCodec)?.namingFirst ?? codec : codec
        self.table = InterningTable(capacity: interning ? InterningTable.capacityMax : 0)
        self.names = NameTable(capacity: interning ? NameTable.capacityMax : 0)
        self.closing = FrameClosing(compression, limits)
    }

    /// Creates an encoder for the datagrams to one receiver, which may be lost: identities get numbers once the receiver
    /// knows them.
    ///
    /// - Parameter epoch: of this numbering; another than that of the connection before.
    package init(datagramsOf codec: any PayloadCodec, compression: CompressionPolicy, epoch: UInt16) {
        self.init(codec: codec, compression: compression)
        table.numbering = IdentityNumbering(epoch: epoch)
    }

    /// Takes the receiver's word of what it knows; nil if it reads no numbers. The newest word counts.
    package mutating func setKnownIdentities(_ known: KnownIdentities?) { table.numbering?.setKnown(known) }

    /// The next frame begins a datagram. All frames until the next call travel in it.
    package mutating func beginDatagram() { table.numbering?.beginDatagram() }

    /// What a reader of these datagrams could know.
    package var sentIdentities: SentIdentities? { table.numbering.map(SentIdentities.init) }

    /// Encodes a message as one frame.
    ///
    /// - Throws: what `append` throws.
    public mutating func encode(_ message: WireMessage, mark: WireMark? = nil) throws -> [UInt8] {
        var writer = WireWriter()
        try append(message, mark: mark, to: &writer)
        return writer.array()
    }

    /// Appends one frame; what the writer held before stays untouched when this throws.
    ///
    /// - Parameter mark: of envelopes and snapshots only.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`; `WireError` with `oversized` or `compressionFailed`, and with
    ///   `invalidValue` for a mark or a report that a reader would refuse.
    public mutating func append(_ message: WireMessage, mark: WireMark? = nil, to writer: inout WireWriter) throws {
        switch message {
        case .envelope(let envelope):
            let payload = try envelope.encodedPayload(with: codec)
            try payload.bytes.withUnsafeBytes { bytes in
                try appendEnvelope(envelope.metadata, mark: mark, payload: bytes, codec: payload.codec.id, to: &writer)
            }
        case .snapshot(let snapshot): try append(snapshot, mark, to: &writer)
        case .hello, .snapshotRequest, .report, .goodbye:
            guard mark == nil else { throw WireError(.invalidValue, "only envelopes and snapshots have marks") }
            try appendPlain(message, to: &writer)
        }
    }

    /// Appends the frame of a message without metadata and payload.
    private func appendPlain(_ message: WireMessage, to writer: inout WireWriter) throws(WireError) {
        switch message {
        case .envelope, .snapshot: break
        case .hello(let hello):
            let frame = writer.openFrame()
            writer.write(hello)
            try closing.close(frame, .hello, &writer)
        case .snapshotRequest(let request):
            let frame = writer.openFrame()
            writer.write(request)
            try closing.close(frame, .snapshotRequest, &writer)
        case .report(let report):
            try report.check()
            let frame = writer.openFrame()
            writer.write(report)
            try closing.close(frame, .report, &writer)
        case .goodbye(let goodbye):
            let frame = writer.openFrame()
            writer.write(goodbye)
            try closing.close(frame, .goodbye, &writer)
        }
    }

    /// Appends the frame of an envelope whose payload is in bytes already. Allocates nothing once the writer has grown.
    ///
    /// - Parameter payload: field names are interned where they come first; see `CompactCodec.namesFirst`.
    /// - Throws: `oversized`, `compressionFailed`; `invalidValue` for a mark that a reader would refuse.
    public mutating func appendEnvelope(
        _ metadata: SessionSyncMetadata, mark: WireMark? = nil, payload: UnsafeRawBufferPointer,
        codec: PayloadCodecID, to writer: inout WireWriter
    ) throws(WireError) {
        let (frame, markFlags) = try writer.openFrame(
            mark, lengthBytes: FrameHeader.lengthBytes(payload.count + 64))
        let change = writer.write(metadata, interning: &table)
        let tail = names.abbreviate(payload, codec, in: &writer)
        let flags = tail.flags.union(markFlags)
        try closing.close(frame, .envelope, flags: flags, codec: codec.number, tail: tail.bytes, &writer)
        if let change { table.apply(change, from: metadata) }
        if tail.hasNewNames { names.remember(namesOf: payload) }
    }

    private mutating func append(
        _ snapshot: AnySessionSyncSnapshot, _ mark: WireMark?, to writer: inout WireWriter
    ) throws {
        guard snapshot.peerSequenceVector.count <= closing.limits.vectorEntries else {
            throw WireError(.oversized, "a snapshot's vector has more than \(closing.limits.vectorEntries) entries")
        }
        let state = try snapshot.encodedState(with: codec)
        let (frame, markFlags) = try writer.openFrame(mark)
        let change = writer.write(snapshot.metadata, interning: &table)
        writer.writeHead(of: snapshot)
        try state.bytes.withUnsafeBytes { bytes in
            let tail = names.abbreviate(bytes, state.codec.id, in: &writer)
            try closing.close(
                frame, .snapshot, flags: tail.flags.union(markFlags), codec: state.codec.id.number, tail: tail.bytes,
                &writer)
            if let change { table.apply(change, from: snapshot.metadata) }
            if tail.hasNewNames { names.remember(namesOf: bytes) }
        }
    }
}

extension WireWriter {
    /// Opens a frame and writes what precedes its body.
    ///
    /// - Throws: `invalidValue` before anything is written.
    fileprivate mutating func openFrame(
        _ mark: WireMark?, lengthBytes: Int = 1
    ) throws(WireError) -> (OpenFrame, FrameFlags) {
        guard let mark else { return (openFrame(lengthBytes: lengthBytes), []) }
        try mark.check()
        let frame = openFrame(lengthBytes: lengthBytes)
        write(mark)
        return (frame, .marked)
    }
}
