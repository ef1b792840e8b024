import Foundation
import MeshBus
import MeshGPX
import MeshIdentity
import MeshTesting
import MeshWire

/// The table of codecs: every codec, with and without zlib, on every payload, against every limit.
struct CodecBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "codecs",
        summary: "A whole envelope through each codec: size, time, and how many times faster than Foundation's JSON",
        run: { context in try CodecBenchmark(context).rows() })

    private let context: BenchmarkContext
    private let payloads: [BenchmarkPayload]
    private let codecs: [any PayloadCodec]
    private let limits: [PayloadLimit]

    /// - Throws: `ToolError` when the options name a payload that nobody offers or a recording that cannot be read.
    init(_ context: BenchmarkContext) throws {
        self.context = context
        // The name stands for the whole envelope in Foundation's JSON, the measure of the others.
        codecs = context.contributions(to: .codecs).map(\.value).filter { $0.id.name != "json" }
        limits = context.descriptors.payloadLimits
        var payloads = context.contributions(to: .benchmarkPayloads).map(\.value)
        if let path = context.options["gpx"] {
            let track = try BenchmarkPayload(recordingAt: path)
            payloads = payloads.map { $0.id == track.id ? track : $0 }
        }
        if let name = context.options["payload"] {
            let ids = payloads.map(\.id)
            payloads.removeAll { $0.id != name }
            if payloads.isEmpty { throw ToolError("there is no payload '\(name)'; there are: \(ids.list)") }
        }
        self.payloads = payloads
    }

    func rows() throws -> [BenchmarkRow] {
        try payloads.flatMap { payload in try rows(of: payload, value: payload.value) }
    }

    private func rows<Value: Codable & Equatable & Sendable>(
        of payload: BenchmarkPayload, value: Value
    ) throws -> [BenchmarkRow] {
        let envelope = SessionSyncEnvelope(metadata: .sample(payloadType: "sample.\(payload.id)"), payload: value)
        var forms: [any EnvelopeForm<Value>] = [JSONForm<Value>(), try CompressedJSONForm<Value>()]
        for codec in codecs {
            forms.append(try FrameForm<Value>(codec: codec, isCompressed: false))
            forms.append(try FrameForm<Value>(codec: codec, isCompressed: true))
        }
        var rows: [BenchmarkRow] = []
        var json: CodecTiming?
        for form in forms {
            context.report("\(payload.id) · \(form.name)")
            let timing = try CodecTiming(of: form, envelope, stopwatch: context.stopwatch)
            let size = CodecSize(limits: limits, bytes: timing.bytes)
            let capacity = try size.capacity(of: payload.samples) { (value: Value) in
                try form.encode(SessionSyncEnvelope(metadata: envelope.metadata, payload: value)).count
            }
            rows.append([
                "payload": .text(payload.id), "codec": .text(form.name), "bytes": .integer(timing.bytes),
                "encodeNanoseconds": .number(timing.encodeNanoseconds),
                "decodeNanoseconds": .number(timing.decodeNanoseconds),
                "encodeVsJSON": .number((json ?? timing).encodeNanoseconds / timing.encodeNanoseconds),
                "decodeVsJSON": .number((json ?? timing).decodeNanoseconds / timing.decodeNanoseconds),
                "fits": .flags(size.fits), "frames": .integers(size.frames), "capacity": .integers(capacity),
            ])
            json = json ?? timing
        }
        return rows
    }
}

/// Size and time of one form on one envelope.
private struct CodecTiming {
    let bytes: Int
    let encodeNanoseconds: Double
    let decodeNanoseconds: Double

    /// - Throws: what the form throws, and `ToolError` when the value does not survive.
    init<Form: EnvelopeForm>(
        of form: Form, _ envelope: SessionSyncEnvelope<Form.Payload>, stopwatch: BenchmarkStopwatch
    ) throws where Form.Payload: Equatable {
        encodeNanoseconds = try stopwatch.nanoseconds { try form.encode(envelope) }
        let encoded = try form.encode(envelope)
        bytes = encoded.count
        guard try form.decode(encoded) == envelope else {
            throw ToolError("\(form.name) does not decode what it encoded; run its conformance rules")
        }
        decodeNanoseconds = try stopwatch.nanoseconds { try form.decode(encoded) }
    }
}

/// What a size means under each limit.
struct CodecSize {
    let limits: [PayloadLimit]
    let bytes: Int

    var fits: [String: Bool] { byLimit { bytes <= $0.bytes } }

    /// How many frames carry it: one, or as many fragments as it takes.
    var frames: [String: Int] {
        byLimit { limit in
            let room = limit.bytes - Self.fragmentOverheadBytes
            return bytes <= limit.bytes || room <= 0 ? 1 : (bytes + room - 1) / room
        }
    }

    /// How many samples would fit; empty when the payload is not made of samples.
    ///
    /// Measured up to a mebibyte, above it reckoned from the size of a sample.
    func capacity<Value>(
        of samples: BenchmarkPayload.Samples?, size: (Value) throws -> Int
    ) throws -> [String: Int] {
        guard let samples else { return [:] }
        var known: [Int: Int] = [:]
        func sizeOf(_ count: Int) throws -> Int {
            if let size = known[count] { return size }
            guard let value = samples.payload(count) as? Value else { return .max }
            let size = try size(value)
            known[count] = size
            return size
        }

        let none = (count: 0, size: try sizeOf(0))
        let all = (count: samples.count, size: bytes)
        return try byLimit { limit in
            limit.bytes <= Self.measuredBytesMax
                ? try Capacity.largestCount(within: limit.bytes, size: sizeOf)
                : Capacity.count(at: limit.bytes, between: none, and: all)
        }
    }

    private func byLimit<Value>(_ value: (PayloadLimit) throws -> Value) rethrows -> [String: Value] {
        Dictionary(try limits.map { ($0.id, try value($0)) }, uniquingKeysWith: { first, _ in first })
    }

    private static let measuredBytesMax = 1 << 20
    private static let fragmentOverheadBytes = 32
}

extension BenchmarkPayload {
    /// The payload `track`, made from a GPX recording.
    /// - Throws: `ToolError` for a file that cannot be read or has no timed points.
    init(recordingAt path: String) throws {
        let points: [GPXPoint]
        do {
            points = try GPXRecording(path: path).timedPoints
        } catch {
            throw ToolError("\(error)")
        }
        guard !points.isEmpty else { throw ToolError("'\(path)' has no points with a time; name another recording") }
        let samples = Samples(count: points.count) { SampleTrack(points, count: $0) }
        self.init(id: "track", value: samples.payload(samples.count), samples: samples)
    }
}

extension SessionSyncMetadata {
    /// As an engine writes it in the middle of a workout.
    fileprivate static func sample(payloadType: String) -> SessionSyncMetadata {
        let bytes: uuid_t = (
            0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x41, 0xD1, 0x80, 0xB4, 0, 0xC0, 0x4F, 0xD4, 0x30, 0xC8
        )
        return SessionSyncMetadata(
            sessionID: UUID(uuid: bytes), featureID: "workout", sourcePeerID: "3F2504E0-4F89-41D3-9A0C-0305E82C3301",
            sequence: 1_234, causalTimestamp: SamplePayloads.start, payloadType: payloadType,
            acknowledgedSequence: 1_198,
            stamp: HybridTimestamp(milliseconds: 1_763_103_545_678, counter: 2), incarnation: 0x5EED_C0DE)
    }
}
