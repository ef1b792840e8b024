import Foundation
import MeshIdentity
import MeshWire

/// One way to turn a typed envelope into bytes and back. Keeps its buffers between calls, as a connection does.
protocol EnvelopeForm<Payload>: AnyObject {
    associatedtype Payload: Codable & Sendable

    /// As the table's column `codec` says it.
    var name: String { get }
    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8]
    /// - Parameter bytes: what `encode` returned last.
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
    let name: String
    private let codec: any PayloadCodec
    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var writer = WireWriter()

    init(codec: any PayloadCodec, isCompressed: Bool) throws {
        name = codec.id.name + (isCompressed ? "+zlib" : "")
        self.codec = codec
        encoder = FrameEncoder(codec: codec, compression: isCompressed ? .zlib() : .stored, limits: .ofBenchmarks)
        decoder = FrameDecoder(codecs: try CodecTable([codec]), limits: .ofBenchmarks)
    }

    func encode(_ envelope: SessionSyncEnvelope<Payload>) throws -> [UInt8] {
        writer.reset()
        try codec.encode(envelope.payload).withUnsafeBytes { payload in
            try encoder.appendEnvelope(envelope.metadata, payload: payload, codec: codec.id, to: &writer)
        }
        return writer.array()
    }

    func decode(_ bytes: [UInt8]) throws -> SessionSyncEnvelope<Payload> {
        guard case .envelope(let envelope) = try decoder.decode(bytes) else {
            throw ToolError("\(name): a frame with an envelope was read as something else")
        }
        return SessionSyncEnvelope(metadata: envelope.metadata, payload: try envelope.decodePayload(as: Payload.self))
    }
}

extension FrameLimits {
    /// Wide, so that the payload limits decide what fits.
    fileprivate static let ofBenchmarks = FrameLimits(
        frameBytes: 1 << 30, inflatedBytes: 1 << 30, inflationRatio: 1_000)
}
