public import MeshIdentity

/// Encodes messages as frames. Use one per connection, or one for all datagrams of a sender.
///
/// Noncopyable: an encoder and the decoder at the other end of the connection must remember the same identities and
/// names. Send every frame that the encoder returns, once and in order. A message for which it throws changes nothing.
public struct FrameEncoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds an object that isn't: nothing else refers to that object.
    private let codec: any PayloadCodec
    private let closing: FrameClosing
    private var table: InterningTable
    private var names: NameTable

    /// Creates an encoder for the frames of one connection.
    ///
    /// - Parameters:
    ///   - codec: Encodes payloads that are still values. Encoded payloads keep the codec in which they arrived.
    ///   - interning: Replaces repeated identities (session, feature, source, payload type) and field names of `compact` by
    ///     numbers. Remembers at most 63 identities, and 1024 names of up to 32 bytes. Use it only if every frame arrives,
    ///     once and in order, at a `FrameStreamDecoder`.
    public init(
        codec: any PayloadCodec, compression: CompressionPolicy = .zlib(), interning: Bool = false,
        limits: FrameLimits = FrameLimits()
    ) {
        self.codec = interning ? (codec as? CompactCodec)?.withNamesFirst ?? codec : codec
        self.table = InterningTable(capacity: interning ? InterningTable.capacityMax : 0)
        self.names = NameTable(capacity: interning ? NameTable.capacityMax : 0)
        self.closing = FrameClosing(compression, limits)
    }

    /// Sets the receiver by its hello, whose announcements decide whether the policy's preferred compression format and its
    /// dictionary may be used. Without a receiver, the preferred format isn't used, and the dictionary is.
    public mutating func setReceiver(_ hello: WireHello?) { closing.setReceiver(hello) }

    /// The parts of the compression policy that the receiver has announced to read.
    package var readable: ReadableCompression {
        get { closing.readable }
        set { closing.readable = newValue }
    }

    /// Creates an encoder for datagrams to one receiver. Replaces an identity by its number once the receiver knows it.
    /// If `append` throws, start a new datagram: the encoder has recorded an introduction that this datagram lacks.
    ///
    /// - Parameter epoch: The epoch of the numbering. Must differ from that of the previous connection.
    package init(datagramsOf codec: any PayloadCodec, compression: CompressionPolicy, epoch: UInt16) {
        self.init(codec: codec, compression: compression)
        table.numbering = IdentityNumbering(epoch: epoch)
    }

    /// Sets the numbers that the receiver has reported as known, in place of earlier ones; nil if it reads no numbers.
    package mutating func setKnownIdentities(_ known: KnownIdentities?) { table.numbering?.setKnown(known) }

    /// Starts a datagram. All frames until the next call belong to it.
    package mutating func beginDatagram() { table.numbering?.beginDatagram() }

    /// The identities that this encoder has introduced, for a decoder of its datagrams; nil without numbering.
    package var sentIdentities: SentIdentities? { table.numbering.map(SentIdentities.init) }

    /// Encodes a message as one frame.
    ///
    /// - Throws: the errors of `append`.
    public mutating func encode(_ message: WireMessage, mark: WireMark? = nil) throws -> [UInt8] {
        var writer = WireWriter()
        try append(message, mark: mark, to: &writer)
        return writer.array()
    }

    /// Appends the bytes of one frame. If this throws, the writer's earlier bytes stay unchanged.
    ///
    /// - Parameter mark: Allowed for envelopes and snapshots only.
    /// - Throws: `SessionSyncError.payloadEncodingFailed`; `WireError` with `oversized` or `compressionFailed`, and with
    ///   `invalidValue` for a mark or a report that a reader would reject.
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

    /// Appends the frame of a message that has no metadata and no payload.
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

    /// Appends the frame of an envelope whose payload is already encoded. Allocates nothing once the writer has grown.
    ///
    /// - Parameter payload: The encoded payload. Field names that come first (`CompactCodec.namesFirst`) are interned.
    /// - Throws: `oversized`, `compressionFailed`; `invalidValue` for a mark that a reader would reject.
    public mutating func appendEnvelope(
        _ metadata: SessionSyncMetadata, mark: WireMark? = nil, payload: UnsafeRawBufferPointer,
        codec: PayloadCodecID, to writer: inout WireWriter
    ) throws(WireError) {
        let (frame, markFlags) = try writer.openFrame(
            mark, lengthBytes: FrameHeader.lengthBytes(payload.count + 64))
        let change = writer.write(metadata, interning: &table)
        let tail = names.writeNames(of: payload, codec, in: &writer)
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
            let tail = names.writeNames(of: bytes, state.codec.id, in: &writer)
            try closing.close(
                frame, .snapshot, flags: tail.flags.union(markFlags), codec: state.codec.id.number, tail: tail.bytes,
                &writer)
            if let change { table.apply(change, from: snapshot.metadata) }
            if tail.hasNewNames { names.remember(namesOf: bytes) }
        }
    }
}

extension WireWriter {
    /// Opens a frame and writes the mark in front of its body, if there is one.
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
