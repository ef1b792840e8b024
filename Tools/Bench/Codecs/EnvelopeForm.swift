import Foundation
import MeshIdentity
import MeshToolOutput
import MeshWire

/// One way to turn a typed envelope into bytes and back. Keeps its buffers between calls, as a connection does.
///
/// Closures rather than a protocol: made for a concrete payload, they are specialized for it, as the same calls in an
/// app would be.
struct EnvelopeForm<Payload: Codable & Sendable> {
    /// As the table's column `codec` says it.
    let name: String
    let encode: (SessionSyncEnvelope<Payload>) throws -> [UInt8]
    /// Takes what `encode` made of the envelope that it was given last.
    let decode: ([UInt8]) throws -> SessionSyncEnvelope<Payload>
}

// MARK: - JSON

extension EnvelopeForm {
    /// Foundation's JSON of the whole envelope: what every other form is compared with.
    static func json() -> EnvelopeForm {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        return EnvelopeForm(
            name: "json", encode: { Array(try encoder.encode($0)) },
            decode: { try decoder.decode(SessionSyncEnvelope<Payload>.self, from: Data($0)) })
    }

    /// The same, compressed as a whole.
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
    /// A frame of MeshWire: metadata in its fixed layout, the payload through a codec.
    /// - Parameter name: nil takes the codec's.
    static func frame(
        _ codec: any PayloadCodec, name: String? = nil, isCompressed: Bool
    ) throws -> EnvelopeForm {
        let coder = try FrameCoder(codec, isCompressed: isCompressed)
        return EnvelopeForm(
            name: (name ?? codec.id.name) + (isCompressed ? "+zlib" : ""),
            encode: { try coder.encode($0.metadata, try codec.encode($0.payload)) },
            decode: { bytes in
                let (metadata, payload) = try coder.decode(bytes)
                return SessionSyncEnvelope(metadata: metadata, payload: try codec.decode(Payload.self, from: payload))
            })
    }

    /// The forms without a direct path, `json` first.
    static func all(_ codecs: [any PayloadCodec]) throws -> [EnvelopeForm] {
        try ofFoundation() + codecs.flatMap { try forms(of: $0) }
    }

    /// What an app has without this library.
    fileprivate static func ofFoundation() throws -> [EnvelopeForm] {
        try [.json(), .compressedJSON(), .propertyList()]
    }

    fileprivate static func forms(of codec: any PayloadCodec) throws -> [EnvelopeForm] {
        // What compact does by itself for types of the direct path is shown apart from what it does for all others.
        let compact = codec as? CompactCodec
        let codec: any PayloadCodec = compact == nil ? codec : CompactCodec(usesDirectPath: false)
        let alone = try [false, true].map { try frame(codec, isCompressed: $0) }
        return try alone + (compact.map { [try interned($0)] } ?? [])
    }
}

extension EnvelopeForm where Payload: WireValue {
    /// Every form, `json` first, and the direct path after the codec that has it.
    static func allWithDirect(_ codecs: [any PayloadCodec]) throws -> [EnvelopeForm] {
        try ofFoundation()
            + codecs.flatMap { codec in
                let plain = try forms(of: codec)
                guard let compact = codec as? CompactCodec else { return plain }
                let direct = try [false, true].map {
                    try frame(compact, name: codec.id.name + ".direct", isCompressed: $0)
                }
                return try plain + direct + [.directInterned(compact)]
            }
    }
}

/// The frames of one connection, on both of its ends.
private final class FrameCoder {
    private let codec: any PayloadCodec
    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var writer = WireWriter()

    init(_ codec: any PayloadCodec, isCompressed: Bool) throws {
        self.codec = codec
        encoder = FrameEncoder(codec: codec, compression: isCompressed ? .zlib() : .stored, limits: .ofBenchmarks)
        decoder = FrameDecoder(codecs: try CodecTable([codec]), limits: .ofBenchmarks)
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
            throw ToolError("\(codec.id.name): a frame with an envelope was read as something else")
        }
        return (envelope.metadata, try envelope.encodedPayload(with: codec).bytes)
    }
}

extension FrameLimits {
    /// Wide, so that the payload limits decide what fits.
    static let ofBenchmarks = FrameLimits(
        frameBytes: 1 << 30, inflatedBytes: 1 << 30, inflationRatio: 1_000)
}
