import Foundation
import MeshIdentity
import MeshWire

/// One way to turn a typed envelope into bytes and back. Keeps its buffers between calls, as a connection does.
protocol EnvelopeForm<Payload>: AnyObject {
    associatedtype Payload: Codable & Sendable

    /// As the table's column `codec` says it.
    var name: String { get }
    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8]
    /// - Parameter bytes: what `encode` made of the envelope that it was given last.
    func decode(_ bytes: [UInt8]) throws -> SessionSyncEnvelope<Payload>
}

/// Foundation's JSON of the whole envelope: what every other form is compared with.
final class JSONForm<Payload: Codable & Sendable>: EnvelopeForm {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    var name: String { "json" }

    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8] { Array(try encoder.encode(envelope)) }

    func decode(_ bytes: [UInt8]) throws -> SessionSyncEnvelope<Payload> {
        try decoder.decode(SessionSyncEnvelope<Payload>.self, from: Data(bytes))
    }
}

/// The same, compressed as a whole.
final class CompressedJSONForm<Payload: Codable & Sendable>: EnvelopeForm {
    private let plain = JSONForm<Payload>()
    private let deflater: ZlibDeflater
    private let inflater: ZlibInflater
    private var plainCount = 0

    var name: String { "json+zlib" }

    init() throws {
        deflater = try ZlibDeflater()
        inflater = try ZlibInflater()
    }

    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8] {
        let text = try plain.encode(envelope)
        plainCount = text.count
        return try text.withUnsafeBytes { try deflater.compress($0) }
    }

    func decode(_ bytes: [UInt8]) throws -> SessionSyncEnvelope<Payload> {
        try plain.decode(bytes.withUnsafeBytes { try inflater.inflate($0, count: plainCount, limits: .ofBenchmarks) })
    }
}

/// A frame of MeshWire: metadata in its fixed layout, the payload through a codec.
final class FrameForm<Payload: Codable & Sendable>: EnvelopeForm {
    /// How the payload becomes bytes and back.
    struct Coding {
        let encode: (Payload) throws -> [UInt8]
        let decode: (UnsafeRawBufferPointer) throws -> Payload
    }

    let name: String
    private let codec: any PayloadCodec
    private let coding: Coding
    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var writer = WireWriter()

    init(_ name: String, codec: any PayloadCodec, coding: Coding, isCompressed: Bool) throws {
        self.name = name + (isCompressed ? "+zlib" : "")
        self.codec = codec
        self.coding = coding
        encoder = FrameEncoder(codec: codec, compression: isCompressed ? .zlib() : .stored, limits: .ofBenchmarks)
        decoder = FrameDecoder(codecs: try CodecTable([codec]), limits: .ofBenchmarks)
    }

    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8] {
        writer.reset()
        try coding.encode(envelope.payload).withUnsafeBytes { payload in
            try encoder.appendEnvelope(envelope.metadata, payload: payload, codec: codec.id, to: &writer)
        }
        return writer.array()
    }

    func decode(_ bytes: [UInt8]) throws -> SessionSyncEnvelope<Payload> {
        guard case .envelope(let envelope) = try decoder.decode(bytes) else {
            throw ToolError("\(name): a frame with an envelope was read as something else")
        }
        let payload = try envelope.encodedPayload(with: codec).bytes.withUnsafeBytes(coding.decode)
        return SessionSyncEnvelope(metadata: envelope.metadata, payload: payload)
    }
}

extension FrameForm.Coding {
    init(_ codec: any PayloadCodec) {
        encode = { try codec.encode($0) }
        decode = { try codec.decode(Payload.self, from: $0) }
    }
}

extension FrameForm.Coding where Payload: WireValue {
    /// The direct path of `compact`, without looking for the conformance.
    init(direct codec: CompactCodec) {
        encode = { try codec.encode(direct: $0) }
        decode = { try codec.decode(direct: Payload.self, from: $0) }
    }
}

/// Every form in which the table shows a payload of that type, `json` first.
func envelopeForms<Payload: Codable & Sendable>(
    of type: Payload.Type, codecs: [any PayloadCodec]
) throws -> [any EnvelopeForm<Payload>] {
    var forms: [any EnvelopeForm<Payload>] = [JSONForm<Payload>(), try CompressedJSONForm<Payload>()]
    for codec in codecs {
        // What the codec does by itself for types of the direct path is shown apart from what it does for all others.
        let plain: any PayloadCodec = codec is CompactCodec ? CompactCodec(usesDirectPath: false) : codec
        for isCompressed in [false, true] {
            forms.append(
                try FrameForm(codec.id.name, codec: plain, coding: .init(plain), isCompressed: isCompressed))
        }
        guard let compact = codec as? CompactCodec, let direct = type as? any (Codable & Sendable & WireValue).Type
        else { continue }
        for isCompressed in [false, true] {
            let form = try directForm(of: direct, compact, isCompressed: isCompressed)
            if let form = form as? any EnvelopeForm<Payload> { forms.append(form) }
        }
    }
    return forms
}

private func directForm<Payload: Codable & Sendable & WireValue>(
    of type: Payload.Type, _ codec: CompactCodec, isCompressed: Bool
) throws -> any EnvelopeForm {
    try FrameForm<Payload>(
        codec.id.name + ".direct", codec: codec, coding: .init(direct: codec), isCompressed: isCompressed)
}

extension FrameLimits {
    /// Wide, so that the payload limits decide what fits.
    fileprivate static let ofBenchmarks = FrameLimits(
        frameBytes: 1 << 30, inflatedBytes: 1 << 30, inflationRatio: 1_000)
}
