import Foundation
import MeshIdentity
import MeshToolOutput
import MeshWire

/// One way to encode and decode a typed envelope. Keeps its buffers between calls, as a connection does.
///
/// Uses closures instead of a protocol: a form made for a concrete payload is specialized for it, like the same calls in an
/// app.
struct EnvelopeForm<Payload: Codable & Sendable> {
    /// The name in the table's column `codec`.
    let name: String
    let encode: (SessionSyncEnvelope<Payload>) throws -> [UInt8]
    /// Decodes the bytes that `encode` returned last.
    let decode: ([UInt8]) throws -> SessionSyncEnvelope<Payload>
}

// MARK: - JSON

extension EnvelopeForm {
    /// Creates the form of the whole envelope in Foundation's JSON, the reference for all other forms.
    static func json() -> EnvelopeForm {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        return EnvelopeForm(
            name: "json", encode: { Array(try encoder.encode($0)) },
            decode: { try decoder.decode(SessionSyncEnvelope<Payload>.self, from: Data($0)) })
    }

    /// Creates the form of the whole envelope in Foundation's JSON, compressed by zlib.
    static func compressedJSON() throws -> EnvelopeForm {
        let plain = json()
        let deflater = try ZlibDeflater()
        let inflater = try ZlibInflater()
        var plainCount = 0
        return EnvelopeForm(
            name: "json+zlib",
            encode: { envelope in
                let text = try plain.encode(envelope)
                plainCount = text.count
                return try text.withUnsafeBytes { try deflater.compress($0) }
            },
            decode: { bytes in
                let text = try bytes.withUnsafeBytes {
                    try inflater.inflate($0, count: plainCount, limits: .ofBenchmarks)
                }
                return try plain.decode(text)
            })
    }
}

// MARK: - Frames

extension EnvelopeForm {
    /// Creates the form of a MeshWire frame: metadata in its fixed layout, and the payload by a codec.
    /// - Parameter name: Name of the form; nil for the codec's name.
    static func frame(
        _ codec: any PayloadCodec, name: String? = nil, _ compression: FrameCompression
    ) throws -> EnvelopeForm {
        let coder = try FrameCoder(codec, compression.policy)
        return EnvelopeForm(
            name: (name ?? codec.id.name) + compression.suffix,
            encode: { try coder.encode($0.metadata, try codec.encode($0.payload)) },
            decode: { bytes in
                let (metadata, payload) = try coder.decode(bytes)
                return SessionSyncEnvelope(metadata: metadata, payload: try codec.decode(Payload.self, from: payload))
            })
    }

    /// Returns the forms without a direct path, `json` first.
    static func all(_ codecs: [any PayloadCodec], _ compressions: [FrameCompression]) throws -> [EnvelopeForm] {
        try ofFoundation() + codecs.flatMap { try forms(of: $0, compressions) }
    }

    /// Returns the forms available to an app without this library.
    fileprivate static func ofFoundation() throws -> [EnvelopeForm] {
        try [.json(), .compressedJSON(), .propertyList()]
    }

    fileprivate static func forms(
        of codec: any PayloadCodec, _ compressions: [FrameCompression]
    ) throws -> [EnvelopeForm] {
        // The direct path, which compact uses by default for types that have it, gets separate rows.
        let compact = codec as? CompactCodec
        let codec: any PayloadCodec = compact == nil ? codec : CompactCodec(usesDirectPath: false)
        let alone = try compressions.map { try frame(codec, $0) }
        return try alone + (compact.map { [try interned($0)] } ?? [])
    }
}

extension EnvelopeForm where Payload: WireValue {
    /// Returns every form, `json` first. The direct path follows its codec.
    static func allWithDirect(
        _ codecs: [any PayloadCodec], _ compressions: [FrameCompression]
    ) throws -> [EnvelopeForm] {
        try ofFoundation()
            + codecs.flatMap { codec in
                let plain = try forms(of: codec, compressions)
                guard let compact = codec as? CompactCodec else { return plain }
                let direct = try compressions.map { try frame(compact, name: codec.id.name + ".direct", $0) }
                return try plain + direct + [.directInterned(compact)]
            }
    }
}

/// A compression of measured frames, and its part of their forms' names.
struct FrameCompression {
    let suffix: String
    let policy: CompressionPolicy

    /// Returns the compressions of every build, and one for each format that plugins contribute.
    static func all(_ formats: [any CompressionFormat]) -> [FrameCompression] {
        [FrameCompression(suffix: "", policy: .stored), FrameCompression(suffix: "+zlib", policy: .zlib())]
            + formats.map { FrameCompression(suffix: "+\($0.name)", policy: .zlib().preferring($0)) }
    }
}

/// Both ends of one connection for frames.
private final class FrameCoder {
    private let codec: any PayloadCodec
    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var writer = WireWriter()

    init(_ codec: any PayloadCodec, _ policy: CompressionPolicy) throws {
        self.codec = codec
        encoder = FrameEncoder(codec: codec, compression: policy, limits: .ofBenchmarks)
        encoder.readable = [.preferredFormat, .dictionary]
        decoder = FrameDecoder(codecs: try CodecTable([codec]), formats: policy.formats, limits: .ofBenchmarks)
    }

    func encode(_ metadata: SessionSyncMetadata, _ payload: [UInt8]) throws -> [UInt8] {
        writer.reset()
        try payload.withUnsafeBytes { bytes in
            try encoder.appendEnvelope(metadata, payload: bytes, codec: codec.id, to: &writer)
        }
        return writer.array()
    }

    func decode(_ bytes: [UInt8]) throws -> (SessionSyncMetadata, [UInt8]) {
        guard case .envelope(let envelope) = try decoder.decode(bytes) else {
            throw ToolError("\(codec.id.name): a frame with an envelope was decoded as another kind")
        }
        return (envelope.metadata, try envelope.encodedPayload(with: codec).bytes)
    }
}

extension FrameLimits {
    /// Limits high enough that the payload limits decide what fits.
    static let ofBenchmarks = FrameLimits(
        frameBytes: 1 << 30, inflatedBytes: 1 << 30, inflationRatio: 1_000)
}
