import Foundation
import MeshIdentity
import MeshToolOutput
import MeshWire

// Frames on a connection with interning: it has sent the identity and field names once before the measured frame.

extension EnvelopeForm {
    /// Creates a form that uses Codable. The measured frame follows the connection's first frame.
    static func interned(_ codec: CompactCodec) throws -> EnvelopeForm {
        let codec = CompactCodec(mode: codec.mode, depthMax: codec.depthMax, usesDirectPath: false, namesFirst: true)
        return try interned(codec, name: codec.id.name + "+interned")
    }

    private static func interned(_ codec: CompactCodec, name: String) throws -> EnvelopeForm {
        let connection = try WarmConnection(codec)
        return EnvelopeForm(
            name: name,
            encode: { envelope in
                let payload = try codec.encode(envelope.payload)
                return try connection.encode(envelope.metadata) { metadata, encoder, writer in
                    try payload.withUnsafeBytes {
                        try encoder.appendEnvelope(metadata, payload: $0, codec: codec.id, to: &writer)
                    }
                }
            },
            decode: { bytes in
                let (metadata, payload) = try connection.decode(bytes)
                return SessionSyncEnvelope(metadata: metadata, payload: try codec.decode(Payload.self, from: payload))
            })
    }
}

extension EnvelopeForm where Payload: WireValue {
    /// Creates a form that uses the direct path, with numbers instead of names.
    static func directInterned(_ codec: CompactCodec) throws -> EnvelopeForm {
        let codec = CompactCodec(mode: codec.mode, depthMax: codec.depthMax, namesFirst: true)
        return try interned(codec, name: codec.id.name + ".direct+interned")
    }
}

/// Both ends of a connection that has already carried a frame of the same identity and type.
private final class WarmConnection {
    private var encoder: FrameEncoder
    private var decoder: FrameStreamDecoder
    private var writer = WireWriter()
    private var isWarm = false

    init(_ codec: CompactCodec) throws {
        encoder = FrameEncoder(codec: codec, compression: .stored, interning: true, limits: .ofBenchmarks)
        decoder = FrameStreamDecoder(codecs: try CodecTable([codec]), limits: .ofBenchmarks)
    }

    func encode(
        _ metadata: SessionSyncMetadata,
        _ append: (SessionSyncMetadata, inout FrameEncoder, inout WireWriter) throws -> Void
    ) throws -> [UInt8] {
        if !isWarm {
            isWarm = true
            _ = try decode(try encode(metadata.aSecondEarlier, append))
        }
        writer.reset()
        try append(metadata, &encoder, &writer)
        return writer.array()
    }

    func decode(_ bytes: [UInt8]) throws -> (SessionSyncMetadata, [UInt8]) {
        decoder.append(bytes)
        guard case .envelope(let envelope) = try decoder.next() else {
            throw ToolError("a frame with an envelope was decoded as another kind")
        }
        return (envelope.metadata, try envelope.encodedPayload(with: CompactCodec()).bytes)
    }
}

extension SessionSyncMetadata {
    fileprivate var aSecondEarlier: SessionSyncMetadata {
        var earlier = self
        earlier.sequence -= 1
        earlier.causalTimestamp -= 1
        earlier.monotonicTimestamp = monotonicTimestamp.map { $0 - 1 }
        earlier.stamp = HybridTimestamp(milliseconds: stamp.milliseconds - 1000, counter: stamp.counter)
        return earlier
    }
}
