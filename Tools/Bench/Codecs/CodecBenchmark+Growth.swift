import MeshBenchmarks
import MeshFixtures
import MeshIdentity
import MeshWire

/// Measures how size and time of a payload made of samples grow with their number.
extension CodecBenchmark {
    static let growthCase = BenchmarkCase(
        id: "growth", summary: "A payload of ever more samples through each codec: size and time",
        run: { context in try CodecBenchmark(context).growthRows() })

    private static let counts = [1, 10, 100, 1_000, 10_000]

    func growthRows() throws -> [BenchmarkRow] {
        try payloads.flatMap { payload in
            try (payload.samples.map { [$0] } ?? []).flatMap { samples in
                try Self.counts.flatMap { count in
                    context.report("\(payload.id): \(count) samples")
                    return try rows(of: payload.id, count, samples.payload(count))
                }
            }
        }
    }

    private func rows(
        of payload: String, _ count: Int, _ value: any Codable & Equatable & Sendable
    ) throws -> [BenchmarkRow] {
        // By concrete type, as in `rows(of:)`.
        switch value {
        case let track as SampleTrack:
            try rows(of: payload, count, track, EnvelopeForm.allWithDirect(codecs, compressions))
        case let value as any Codable & Equatable & Sendable & WireValue: try rowsWithDirect(of: payload, count, value)
        default: try rowsWithoutDirect(of: payload, count, value)
        }
    }

    private func rowsWithDirect<Value: Codable & Equatable & Sendable & WireValue>(
        of payload: String, _ count: Int, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, count, value, EnvelopeForm.allWithDirect(codecs, compressions))
    }

    private func rowsWithoutDirect<Value: Codable & Equatable & Sendable>(
        of payload: String, _ count: Int, _ value: Value
    ) throws -> [BenchmarkRow] {
        try rows(of: payload, count, value, EnvelopeForm.all(codecs, compressions))
    }

    private func rows<Value: Codable & Equatable & Sendable>(
        of payload: String, _ count: Int, _ value: Value, _ forms: [EnvelopeForm<Value>]
    ) throws -> [BenchmarkRow] {
        let envelope = SessionSyncEnvelope(
            metadata: .benchmarkSample(payloadType: "sample.\(payload)"), payload: value)
        return try timings(of: forms, envelope).map { timing in
            [
                "payload": .text("\(payload) of \(count)"), "samples": .integer(count), "codec": .text(timing.name),
                "bytes": .integer(timing.bytes), "encodeNanoseconds": .number(timing.encode),
                "decodeNanoseconds": .number(timing.decode),
            ]
        }
    }
}
