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
        let opened = try openEnvelope(in: frame)
        let payload =
            opened.codec.id == CompactCodec.id
            ? try CompactCodec().decode(direct: type, from: opened.payload)
            : try opened.codec.decode(type, from: opened.payload)
        return SessionSyncEnvelope(metadata: opened.metadata, payload: payload)
    }

    @usableFromInline
    mutating func openEnvelope(in frame: UnsafeRawBufferPointer) throws(WireError) -> OpenedEnvelope {
        try bodies.openEnvelope(try wholeFrame(frame), frame)
    }
}
