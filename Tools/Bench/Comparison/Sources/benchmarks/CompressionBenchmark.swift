import Measuring
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshTesting
import MeshWire
import PluginsToolKit

/// The cost of a compressed frame, compared with zlib alone on the same body of metadata and payload.
enum CompressionBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "compression",
        summary: "A frame with a compressed body beside bare zlib on a reused stream, given the same body",
        run: { context in try rows(context) })

    private static func rows(_ context: BenchmarkContext) throws -> [BenchmarkRow] {
        try [
            row("track of 12", SamplePayloads.track(count: 12), context),
            row("track of 100", SamplePayloads.track(count: 100), context),
            row("track", SamplePayloads.track(), context),
            row("state", SamplePayloads.workout(), context),
        ]
    }

    private static func row(
        _ name: String, _ payload: some Codable & Sendable, _ context: BenchmarkContext
    ) throws -> BenchmarkRow {
        context.report("compression: \(name)")
        let frames = try CompressedFrames(payload)
        let times = try context.stopwatch.nanoseconds(
            takingTurns: [
                { try frames.deflate() }, { try frames.encode() }, { try frames.inflate() }, { try frames.decode() },
            ])
        return [
            "payload": .text(name), "bodyBytes": .integer(frames.body.count),
            "frameBytes": .integer(frames.frame.count), "deflateNanoseconds": .number(times[0]),
            "encodeNanoseconds": .number(times[1]), "encodeOverheadPercent": .number((times[1] / times[0] - 1) * 100),
            "inflateNanoseconds": .number(times[2]), "decodeNanoseconds": .number(times[3]),
            "decodeOverheadPercent": .number((times[3] / times[2] - 1) * 100),
        ]
    }
}

/// One envelope, compressed by zlib alone and as a frame. Keeps its memory between calls, as a connection does.
private final class CompressedFrames {
    /// The bytes that a frame compresses: metadata and payload.
    let body: [UInt8]
    private(set) var frame: [UInt8] = []
    private let metadata = SessionSyncMetadata.benchmarkSample(payloadType: "sample.body")
    private let codec = CompactCodec()
    private let payload: [UInt8]
    private var deflated: [UInt8] = []
    private let zlib: OpaquePointer
    private var output: [UInt8]
    private var encoder: FrameEncoder
    private var decoder: FrameDecoder
    private var writer = WireWriter()

    private static let level = 6

    init(_ value: some Codable & Sendable) throws {
        let limits = FrameLimits(frameBytes: 1 << 30, inflatedBytes: 1 << 30, inflationRatio: 1000)
        payload = try codec.encode(value)
        encoder = FrameEncoder(codec: codec, compression: .zlib(level: Self.level), limits: limits)
        decoder = FrameDecoder(codecs: try CodecTable([codec]), limits: limits)
        var plain = FrameEncoder(codec: codec, compression: .stored, limits: limits)
        let sample = metadata
        let encoded = EncodedPayload(bytes: payload, codec: codec)
        let frame = try plain.encode(.envelope(AnySessionSyncEnvelope(metadata: sample, payload: encoded)))
        body = Self.body(ofFrame: frame)
        guard let stream = measuring_zlib_create(Int32(Self.level)) else { throw MeasuringError("zlib has no memory") }
        zlib = stream
        output = [UInt8](repeating: 0, count: body.count + 64)
        try deflate()
        deflated = Array(output.prefix(try deflate()))
        try encode()
        self.frame = writer.array()
        guard try inflate() == body.count else { throw MeasuringError("zlib does not inflate what it deflated") }
    }

    @discardableResult
    func deflate() throws -> Int {
        let count = body.withUnsafeBytes { body in
            output.withUnsafeMutableBytes {
                measuring_deflate(zlib, body.baseAddress, body.count, $0.baseAddress, $0.count)
            }
        }
        guard count > 0 else { throw MeasuringError("zlib does not deflate") }
        return count
    }

    @discardableResult
    func inflate() throws -> Int {
        deflated.withUnsafeBytes { deflated in
            output.withUnsafeMutableBytes {
                measuring_inflate(zlib, deflated.baseAddress, deflated.count, $0.baseAddress, $0.count)
            }
        }
    }

    func encode() throws {
        writer.reset()
        let (metadata, codec) = (metadata, codec.id)
        try payload.withUnsafeBytes { try encoder.appendEnvelope(metadata, payload: $0, codec: codec, to: &writer) }
    }

    func decode() throws {
        guard case .envelope = try decoder.decode(frame) else {
            throw MeasuringError("a frame is read as something else")
        }
    }

    /// Returns the body, which is after six bytes and the length, and before the checksum.
    private static func body(ofFrame frame: [UInt8]) -> [UInt8] {
        let lengthBytes = 1 + frame[5...].prefix { $0 & 0x80 != 0 }.count
        return Array(frame[(6 + lengthBytes)..<(frame.count - 4)])
    }
}
