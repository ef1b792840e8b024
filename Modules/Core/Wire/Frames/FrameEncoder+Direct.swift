public import MeshIdentity

extension FrameEncoder {
    /// The frame of an envelope whose payload takes the direct path of `compact`: nothing is erased, looked up or copied
    /// on the way. What `encode` makes of the same envelope and codec is the same frame.
    ///
    /// Allocates the result and nothing else, once the encoder has seen a frame of that size.
    /// - Throws: `oversized`, `compressionFailed`, `tooDeep`.
    @inlinable
    public mutating func encode<Payload: Codable & Sendable & WireValue>(
        _ envelope: SessionSyncEnvelope<Payload>, direct codec: CompactCodec = CompactCodec()
    ) throws(WireError) -> [UInt8] {
        forgetFrames()
        let frame = openEnvelope(envelope.metadata, codec)
        envelope.payload.write(to: &writer, as: .element)
        try closeEnvelope(frame, envelope.metadata)
        return writer.bytes.array()
    }

    /// Appends that frame; what the writer held before stays untouched when this throws.
    ///
    /// Allocates nothing once the writer has grown.
    /// - Throws: `oversized`, `compressionFailed`, `tooDeep`.
    @inlinable
    public mutating func append<Payload: Codable & Sendable & WireValue>(
        _ envelope: SessionSyncEnvelope<Payload>, direct codec: CompactCodec = CompactCodec(),
        to output: inout WireWriter
    ) throws(WireError) {
        swap(&output, &writer.bytes)
        defer { swap(&output, &writer.bytes) }
        let frame = openEnvelope(envelope.metadata, codec)
        envelope.payload.write(to: &writer, as: .element)
        try closeEnvelope(frame, envelope.metadata)
    }
}

extension FrameDecoder {
    /// The envelope in exactly one frame, its payload read in place by the direct path of `compact`.
    ///
    /// A frame in another codec is read by that one. A mark is passed over; `decodeFrame` hands it out. The events of a connection are read by
    /// `FrameStreamDecoder.next(_:payloadType:)`.
    /// - Throws: every code of `WireError` that is about reading; `typeMismatch` when the frame holds no envelope; what
    ///   another codec throws.
    @inlinable
    public mutating func decodeEnvelope<Payload: Codable & Sendable & WireValue>(
        _ type: Payload.Type, from frame: UnsafeRawBufferPointer
    ) throws -> SessionSyncEnvelope<Payload> {
        let (metadata, payload) = try openEnvelope(in: frame)
        guard isCompact(payload) else {
            return SessionSyncEnvelope(metadata: metadata, payload: try decode(type, payload))
        }
        try reader.begin(payload.bytes, depthMax: CompactCodec().depthMax)
        defer { reader.forgetTexts() }
        let value = try Payload(wire: try reader.readFirstKind(), from: &reader)
        try reader.checkEnd()
        return SessionSyncEnvelope(metadata: metadata, payload: value)
    }

    @usableFromInline
    mutating func openEnvelope(
        in frame: UnsafeRawBufferPointer
    ) throws(WireError) -> (SessionSyncMetadata, OpenedPayload) {
        try bodies.openEnvelope(try wholeFrame(frame), frame)
    }

    @usableFromInline
    func isCompact(_ payload: OpenedPayload) -> Bool { payload.codec == bodies.codecs.compact && payload.codec != 0 }

    @usableFromInline
    func decode<Payload: Decodable>(_ type: Payload.Type, _ payload: OpenedPayload) throws -> Payload {
        try bodies.codecs.codec(payload.codec).decode(type, from: payload.bytes)
    }
}
