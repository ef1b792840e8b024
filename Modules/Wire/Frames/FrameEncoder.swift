public import MeshIdentity

/// Turns messages into frames. One for each connection, or one for all datagrams of a sender.
///
/// Noncopyable, because what it remembers of a connection must agree with what the reader at the other end has seen:
/// every frame that it returns must be sent, in that order, once. A message for which it throws leaves no trace.
public struct FrameEncoder: ~Copyable, @unchecked Sendable {
    // Sendable although it holds a class that is not: the class is private to this one owner.
    private let codec: any PayloadCodec
    private let limits: FrameLimits
    private let compressor: BodyCompressor?
    private var table: InterningTable
    private var names: NameTable

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
        self.limits = limits
        self.table = InterningTable(capacity: interning ? InterningTable.capacityMax : 0)
        self.names = NameTable(capacity: interning ? NameTable.capacityMax : 0)
        if case .stored = compression.method {
            compressor = nil
        } else {
            compressor = BodyCompressor(policy: compression, limits: limits)
        }
    }

    /// One frame.
    ///
    /// - Throws: `SessionSyncError.payloadEncodingFailed`; `WireError` with `oversized`, or `compressionFailed`.
    public mutating func encode(_ message: WireMessage) throws -> [UInt8] {
        var writer = WireWriter()
        try append(message, to: &writer)
        return writer.array()
    }

    /// Appends one frame; what the writer held before stays untouched when this throws.
    ///
    /// - Throws: `SessionSyncError.payloadEncodingFailed`; `WireError` with `oversized`, or `compressionFailed`.
    public mutating func append(_ message: WireMessage, to writer: inout WireWriter) throws {
        switch message {
        case .envelope(let envelope):
            let payload = try envelope.encodedPayload(with: codec)
            try payload.bytes.withUnsafeBytes { bytes in
                try appendEnvelope(envelope.metadata, payload: bytes, codec: payload.codec.id, to: &writer)
            }
        case .snapshot(let snapshot): try append(snapshot, to: &writer)
        case .hello(let hello):
            let start = writer.openFrame()
            writer.write(hello)
            try close(start, .hello, &writer)
        case .snapshotRequest(let request):
            let start = writer.openFrame()
            writer.write(request)
            try close(start, .snapshotRequest, &writer)
        case .goodbye(let goodbye):
            let start = writer.openFrame()
            writer.write(goodbye)
            try close(start, .goodbye, &writer)
        }
    }

    /// Appends the frame of an envelope whose payload is in bytes already. Allocates nothing once the writer has grown.
    ///
    /// - Parameter payload: field names are interned where they come first; see `CompactCodec.namesFirst`.
    /// - Throws: `oversized`, `compressionFailed`.
    public mutating func appendEnvelope(
        _ metadata: SessionSyncMetadata, payload: UnsafeRawBufferPointer, codec: PayloadCodecID,
        to writer: inout WireWriter
    ) throws(WireError) {
        let start = writer.openFrame()
        let change = writer.write(metadata, interning: &table)
        let tail = names.abbreviate(payload, codec, in: &writer)
        try close(start, .envelope, tail.flags, codec: codec.number, tail: tail.bytes, &writer)
        if let change { table.apply(change, from: metadata) }
        if tail.hasNewNames { names.remember(namesOf: payload) }
    }

    private mutating func append(_ snapshot: AnySessionSyncSnapshot, to writer: inout WireWriter) throws {
        guard snapshot.peerSequenceVector.count <= limits.vectorEntries else {
            throw WireError(.oversized, "a snapshot's vector has more than \(limits.vectorEntries) entries")
        }
        let state = try snapshot.encodedState(with: codec)
        let start = writer.openFrame()
        let change = writer.write(snapshot.metadata, interning: &table)
        writer.writeHead(of: snapshot)
        try state.bytes.withUnsafeBytes { bytes in
            let tail = names.abbreviate(bytes, state.codec.id, in: &writer)
            try close(start, .snapshot, tail.flags, codec: state.codec.id.number, tail: tail.bytes, &writer)
            if let change { table.apply(change, from: snapshot.metadata) }
            if tail.hasNewNames { names.remember(namesOf: bytes) }
        }
    }
}

// MARK: - Closing a frame

extension FrameEncoder {
    private func close(_ start: Int, _ kind: FrameKind, _ writer: inout WireWriter) throws(WireError) {
        try close(start, kind, [], codec: 0, tail: UnsafeRawBufferPointer(start: nil, count: 0), &writer)
    }

    /// Completes the frame that was opened at `start`: the rest of its body, header and checksum.
    private func close(
        _ start: Int, _ kind: FrameKind, _ flags: FrameFlags, codec: UInt8, tail: UnsafeRawBufferPointer,
        _ writer: inout WireWriter
    ) throws(WireError) {
        let bodyBytes = writer.count - start - FrameHeader.smallBytes + tail.count
        let compressor = compressor.flatMap { $0.applies(to: bodyBytes) ? $0 : nil }
        if compressor == nil { try check(bodyBytes, start, &writer) }
        let header = writer.writeHeader(at: start, kind: kind, codec: codec, flags: flags, bodyBytes: bodyBytes)
        writer.reserve(tail.count + FrameHeader.checksumBytes)
        writer.writeRaw(tail)
        if let compressor {
            try compress(start, header, kind, flags, codec, compressor, &writer)
        }
        let frame = UnsafeRawBufferPointer(rebasing: writer.bytes[start...])
        writer.write(FrameChecksum.of(frame))
    }

    /// Replaces the body by its compressed form when that pays.
    private func compress(
        _ start: Int, _ headerBytes: Int, _ kind: FrameKind, _ flags: FrameFlags, _ codec: UInt8,
        _ compressor: BodyCompressor, _ writer: inout WireWriter
    ) throws(WireError) {
        let bodyBytes = writer.count - start - headerBytes
        do throws(WireError) {
            var form: (flags: FrameFlags, bytes: UnsafeRawBufferPointer)?
            let body = UnsafeRawBufferPointer(rebasing: writer.bytes[(start + headerBytes)...])
            _ = try compressor.compress(body) { form = ($0, $1) }
            guard let form else { return try check(bodyBytes, start, &writer) }
            try check(form.bytes.count, start, &writer)
            writer.position = start + FrameHeader.smallBytes
            _ = writer.writeHeader(
                at: start, kind: kind, codec: codec, flags: form.flags.union(flags), bodyBytes: form.bytes.count)
            writer.writeRaw(form.bytes)
        } catch {
            writer.position = start
            compressor.forget()
            throw error
        }
    }

    private func check(_ bodyBytes: Int, _ start: Int, _ writer: inout WireWriter) throws(WireError) {
        // The header of the largest body: four more bytes of length than that of a small one.
        let most = limits.frameBytes - FrameHeader.smallBytes - 4 - FrameHeader.checksumBytes
        guard bodyBytes <= most else {
            writer.position = start
            throw WireError(
                .oversized, "a body of \(bodyBytes) bytes exceeds the limit of \(limits.frameBytes) a frame")
        }
    }
}
