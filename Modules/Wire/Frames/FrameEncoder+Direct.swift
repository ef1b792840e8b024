public import MeshIdentity

extension FrameEncoder {
    /// Appends the frame of an envelope whose payload takes the direct path of `compact`: nothing is erased, looked up or
    /// copied on the way. What `append` writes for the same envelope and codec is the same frame.
    ///
    /// Allocates nothing once the writer has grown.
    /// - Throws: `oversized`, `compressionFailed`, `tooDeep`.
    @inlinable
    public mutating func append<Payload: Codable & Sendable & WireValue>(
        _ envelope: SessionSyncEnvelope<Payload>, direct codec: CompactCodec = CompactCodec(),
        to writer: inout WireWriter
    ) throws(WireError) {
        try codec.withEncoded(direct: envelope.payload) { bytes throws(WireError) in
            try appendEnvelope(envelope.metadata, payload: bytes, codec: CompactCodec.id, to: &writer)
        }
    }
}

extension FrameDecoder {
    /// The envelope in exactly one frame, its payload read in place by the direct path of `compact`.
    ///
    /// A frame in another codec is read by that one. `FrameStreamDecoder` hands out erased messages only.
    /// - Throws: every code of `WireError` that is about reading; `typeMismatch` when the frame holds no envelope; what
    ///   another codec throws.
    @inlinable
    public mutating func decodeEnvelope<Payload: Codable & Sendable & WireValue>(
        _ type: Payload.Type, from frame: UnsafeRawBufferPointer
    ) throws -> SessionSyncEnvelope<Payload> {
        var envelope: SessionSyncEnvelope<Payload>?
        try withEnvelope(in: frame) { metadata, codec, bytes in
            let payload =
                codec.id == CompactCodec.id
                ? try CompactCodec().decode(direct: type, from: bytes) : try codec.decode(type, from: bytes)
            envelope = SessionSyncEnvelope(metadata: metadata, payload: payload)
        }
        guard let envelope else { throw WireError(.truncated, "no envelope was read") }
        return envelope
    }

    @usableFromInline
    mutating func withEnvelope(
        in frame: UnsafeRawBufferPointer,
        _ use: (SessionSyncMetadata, any PayloadCodec, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let header = try wholeFrame(frame)
        try bodies.withEnvelope(header, frame, use)
    }
}
