import Measuring
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshTesting
import MeshWire
import PluginsToolKit

/// Counts the memory blocks that a frame allocates once the buffers of both ends have grown to its size.
enum AllocationBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "allocations",
        summary: "Blocks of memory that a frame allocates after the first ones; a value that is read has its own",
        run: { context in
            guard measuring_counts_allocations() != 0 else {
                throw MeasuringError("this C library does not let a program count its allocations; glibc does")
            }
            return try rows(of: "event", SamplePayloads.event()) + rows(of: "metrics", SamplePayloads.metrics())
                + rows(of: "state", SamplePayloads.workout())
        })

    private static let policies: [(name: String, connection: CompressionPolicy, alone: CompressionPolicy)] = [
        ("stored", .stored, .stored), ("zlib", .zlib(minimumBytes: 0), .zlib(minimumBytes: 0)),
    ]

    private static func rows<Payload: Codable & Sendable & WireCodable>(
        of name: String, _ payload: Payload
    ) throws -> [BenchmarkRow] {
        try policies.flatMap { body, connection, alone -> [BenchmarkRow] in
            let ends = try BothEnds(payload, connection, alone: alone)
            let operations: [(String, () throws -> Void)] = [
                ("write, encoded", { try ends.writeEncoded() }),
                ("write and read, message", { try ends.passMessage() }),
                ("read alone, message", { try ends.readAlone() }),
            ]
            return try operations.map { operation, run -> BenchmarkRow in
                [
                    "payload": .text(name), "body": .text(body), "operation": .text(operation),
                    "allocations": .number(try allocations(run)),
                ]
            }
        }
    }

    /// Returns the allocations of one call, after enough calls for every buffer to have grown.
    private static func allocations(_ operation: () throws -> Void) throws -> Double {
        for _ in 0..<200 { try operation() }
        let calls = 1000
        let before = measuring_allocations()
        for _ in 0..<calls { try operation() }
        return Double(measuring_allocations() - before) / Double(calls)
    }
}

/// Both ends of a connection with interning, and a reader of self-contained frames.
private final class BothEnds<Payload: Codable & Sendable & WireCodable> {
    private let envelope: SessionSyncEnvelope<Payload>
    // The payload by Codable, with names first.
    private let encoded: [UInt8]
    private let frame: [UInt8]
    private let codec = CompactCodec()
    private var writer = WireWriter()
    private var encoder: FrameEncoder
    // The encoder of the frames that `decoder` reads.
    private var readEncoder: FrameEncoder
    private var decoder: FrameStreamDecoder
    private var decoderAlone: FrameDecoder

    /// - Parameter alonePolicy: Compression of self-contained frames.
    init(_ payload: Payload, _ policy: CompressionPolicy, alone alonePolicy: CompressionPolicy) throws {
        envelope = SessionSyncEnvelope(metadata: .benchmarkSample(payloadType: "sample.payload"), payload: payload)
        encoded = try CompactCodec(usesDirectPath: false, namesFirst: true).encode(payload)
        encoder = FrameEncoder(codec: codec, compression: policy, interning: true)
        readEncoder = FrameEncoder(codec: codec, compression: policy, interning: true)
        decoder = FrameStreamDecoder(codecs: try CodecTable([codec]))
        decoderAlone = FrameDecoder(codecs: try CodecTable([codec]))
        var alone = FrameEncoder(codec: codec, compression: alonePolicy)
        frame = try alone.encode(.envelope(try AnySessionSyncEnvelope(envelope)))
    }

    func writeEncoded() throws { try writeEncoded(with: &encoder) }

    private func writeEncoded(with encoder: inout FrameEncoder) throws {
        writer.reset()
        let (metadata, codec) = (envelope.metadata, codec.id)
        try encoded.withUnsafeBytes { try encoder.appendEnvelope(metadata, payload: $0, codec: codec, to: &writer) }
    }

    func passMessage() throws {
        try writeEncoded(with: &readEncoder)
        decoder.append(writer.bytes)
        guard case .envelope = try decoder.next() else { throw MeasuringError("a frame is read as something else") }
    }

    func readAlone() throws {
        guard case .envelope? = try decoderAlone.decode(frame) else {
            throw MeasuringError("a frame is read as something else")
        }
    }
}

struct MeasuringError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
